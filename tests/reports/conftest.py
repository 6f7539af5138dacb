from study_rows import content_of, corpus, rendered, row_of, run_of, small, unrendered

__all__ = ["content_of", "corpus", "rendered", "row_of", "run_of", "small", "unrendered"]
