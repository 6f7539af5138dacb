"""What the tests of models share: small batches, and gated units, layers and pools written out."""

import torch

from saccade.models.padded import Padded

SOURCE = torch.tensor([[5, 6, 7, 8, 2, 0, 0], [9, 4, 2, 0, 0, 0, 0], [4, 5, 6, 7, 8, 9, 2]])
LENGTHS = torch.tensor([5, 3, 7])
BATCH = Padded(SOURCE, LENGTHS)
TARGET = torch.tensor([[1, 4, 5, 6], [1, 7, 2, 0], [1, 9, 8, 2]])


def gru(inputs, from_hidden, hidden):
    """The unit after its two products."""
    (ar, az, an), (br, bz, bn) = inputs.chunk(3, -1), from_hidden.chunk(3, -1)
    reset, update = torch.sigmoid(ar + br), torch.sigmoid(az + bz)
    return (1 - update) * torch.tanh(an + reset * bn) + update * hidden


def layer(cell, word, hidden):
    """One step of a torch.nn.GRU of one layer."""
    inputs = word @ cell.weight_ih_l0.T + cell.bias_ih_l0
    return gru(inputs, hidden @ cell.weight_hh_l0.T + cell.bias_hh_l0, hidden)


def annotations(encoder, words):
    """States of both directions for one sentence `(length, embedding)`, word by word."""
    size = encoder.forwards.hidden_size
    ahead, back = [words.new_zeros(size)], [words.new_zeros(size)]
    for word, last in zip(words, words.flip(0), strict=True):
        ahead.append(layer(encoder.forwards, word, ahead[-1]))
        back.append(layer(encoder.backwards, last, back[-1]))
    return torch.cat([torch.stack(ahead[1:]), torch.stack(back[:0:-1])], -1)


def decode(decoder, token, hidden, read):
    """One step of the decoder, as its equations say: logits and next state."""
    word = decoder.embedding(token)
    if decoder.intermediate_proj is None:  # query="before"
        context = read(hidden)
        inputs = decoder.input_proj(word) + decoder.context_proj(context)
        following = gru(inputs, decoder.hidden_proj(hidden), hidden)
        return output(decoder, following, context, word), following
    middle = gru(decoder.input_proj(word), decoder.hidden_proj(hidden), hidden)
    context = read(middle)
    following = gru(decoder.context_proj(context), decoder.intermediate_proj(middle), middle)
    return output(decoder, following, context, word), following


def output(decoder, state, context, word):
    """Logits of a token from the parts of a step."""
    t = torch.tanh(decoder.readout(torch.cat([state, context, word])))
    return decoder.embedding.weight @ t + decoder.bias


def torch_layer(layer, norm, *, attends):
    """A layer of torch's Transformer with the numbers of ours: 12 features, 3 heads, 20 between."""
    kind = torch.nn.TransformerDecoderLayer if attends else torch.nn.TransformerEncoderLayer
    other = kind(12, 3, 20, batch_first=True, norm_first=norm == "pre", dtype=torch.double).eval()
    state = {f"self_attn.{name}": value for name, value in layer.attention.state_dict().items()}
    if attends:
        state |= {f"multihead_attn.{name}": value for name, value in layer.source_attention.state_dict().items()}
    for ours, name in (("inner", "linear1"), ("outer", "linear2")):
        state |= {f"{name}.{part}": value for part, value in getattr(layer, ours).state_dict().items()}
    for place, one in enumerate(layer.norms, 1):
        state |= {f"norm{place}.{part}": value for part, value in one.state_dict().items()}
    other.load_state_dict(state)
    return other


def pooled_by_hand(model, features, score):
    """The logits of one text: softmax of every query's scores over its features `(length, dim)`, and what it reads."""
    pool = model.pool.attention
    if score == "additive":
        keys = torch.tanh(pool.key_projection(features)[None] + model.pool.queries[:, None])
        scores = keys @ pool.score.get().v
    else:
        scores = model.pool.queries @ features.T
    return model.output((scores.softmax(-1) @ features).flatten())
