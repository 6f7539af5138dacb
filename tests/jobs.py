"""Published runs of the README's jobs: file of results and metric of each task."""

JOBS = {
    "translate": ("dates/rnnsearch-1", "exact_match"),
    "classify-text": ("classify-text/reviews-rnn-attention-1", "accuracy"),
    "transcribe": ("fsdd/las-1", "wer"),
    "classify-image": ("classify-image/shapes-cnn-attention-1", "accuracy"),
    "glimpse": ("glimpse/mnist-ram-1", "error"),
    "caption": ("caption/scenes-default-1", "exact_match"),
    "answer": ("answer/scenes-attention-lstm-long-1", "accuracy"),
    "memorize": ("memorize/copy-ntm-1", "exact_match"),
    "regress": ("regress/sine-nadaraya-watson-1", "r2"),
}
