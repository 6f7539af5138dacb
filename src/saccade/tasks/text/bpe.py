"""Byte-level byte-pair encoding: learned pieces of words for any text."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from saccade.errors import ArgumentError, SaccadeError, pip_install
from saccade.tasks.text.special import SPECIAL

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["BytePairs"]

#: Within them alone bytes are merged: a word with its marks, a number, other signs, each with the space before it.
_WORDS = r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"
#: A space cannot be in a byte-level token (there it is written Ġ), so that no text comes to be one of these.
_NAMES = [" padding", " begin", " end", " unknown"]
_HALVES = re.compile("[\ud800-\udfff]")  # of surrogate pairs
_PRINTED = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
#: Byte of each character of a byte-level token: printed ones are themselves, others are from U+0100 on.
_BYTES = {chr(byte): byte for byte in _PRINTED} | {
    chr(0x100 + number): byte for number, byte in enumerate(sorted({*range(0x100)} - {*_PRINTED}))
}


class BytePairs:
    """A token for each frequent sequence of bytes.

    It is at most a word, and may be part of a rare character.


    Texts are composed (NFC) and begin with a space of their own, so that a word is the same tokens wherever it stands.
    Every text has tokens, and comes back from them; none is unknown.

    Args:
        tokenizer: as the library `tokenizers` has it.

    Example:
        >>> tokenizer = BytePairs.learn(["low lower low"] * 9, 280)
        >>> tokenizer.pieces("low slow"), tokenizer.decode(tokenizer.encode("low slow"))
        (['low', ' ', 's', 'lo', 'w'], 'low slow')

    Source:
        Sennrich, Haddow, Birch 2016, "Neural Machine Translation of Rare Words with Subword Units", algorithm 1. On
        bytes as in Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2.
    """

    unknowns: ClassVar[bool] = False
    joint: ClassVar[str] = ""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer = tokenizer

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> "BytePairs":
        """Merge the most frequent neighbours of texts, up to `size` ids.

        It ends early if no pair is there twice.
        """
        library = _library()
        trainer = library.trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=2,
            show_progress=False,
            special_tokens=_NAMES,
            initial_alphabet=sorted(library.pre_tokenizers.ByteLevel.alphabet()),
        )
        blank = _blank()
        blank.train_from_iterator(texts, trainer)
        content = json.loads(blank.to_str())
        return cls(library.Tokenizer.from_str(json.dumps({**content, "added_tokens": []})))  # no text is special

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "BytePairs":
        """Return what `to_json` described.

        Raises:
            ArgumentError: if it is no tokenizer of bytes with the special ids in their places.
        """
        library, description = _library(), json.dumps(content.get("tokenizer"))
        try:
            tokenizer = library.Tokenizer.from_str(description)
        except Exception as error:
            if type(error) is not Exception:  # the class of the library's errors
                raise
            raise ArgumentError(f"tokenizer.json: expected a tokenizer of byte pairs, got {error}") from error
        if [tokenizer.id_to_token(number) for number in range(SPECIAL)] != _NAMES:
            raise ArgumentError(f"tokenizer.json: expected the ids from 0 on to be{','.join(_NAMES)}")
        return cls(tokenizer)

    def to_json(self) -> dict[str, Any]:
        """Return the content for `from_json`.

        Its "tokenizer" is a tokenizer.json of the library `tokenizers`.
        """
        return {"kind": "bpe", "tokenizer": json.loads(self._tokenizer.to_str())}

    def __len__(self) -> int:
        """Return the number of ids."""
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Return token ids, without a begin or an end."""
        return self._tokenizer.encode(_whole(text), add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, far faster than one by one."""
        encodings = self._tokenizer.encode_batch_fast(list(map(_whole, texts)), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of token ids, U+FFFD for invalid bytes."""
        return self._tokenizer.decode([number for number in ids if number >= SPECIAL]).removeprefix(" ")

    def piece(self, number: int) -> str:
        r"""Return the text of a token with the space before it.

        A byte of an incomplete character is written in hexadecimal, for example \xf0.
        """
        return self.spelled(number).decode(errors="backslashreplace")

    def spelled(self, number: int) -> bytes:
        """Return the bytes of a token, none of a special one."""
        letters = self._tokenizer.id_to_token(number) if number >= SPECIAL else None
        return bytes(_BYTES[letter] for letter in letters or "")

    def pieces(self, text: str) -> list[str]:
        """Return the text of each token, without the first space."""
        pieces = [self.piece(number) for number in self.encode(text)]
        return [pieces[0].removeprefix(" "), *pieces[1:]] if pieces else []


def _whole(text: str) -> str:
    """Return a text with U+FFFD for each half of a surrogate pair.

    Python has such halves for bytes of a command that are no UTF-8.
    """
    return _HALVES.sub("\N{REPLACEMENT CHARACTER}", text)


def _library() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        missing = "--tokenizer bpe needs tokenizers, which is not installed"
        raise SaccadeError(f"{missing}: {pip_install('train')}") from error
    return tokenizers


def _blank() -> "Tokenizer":
    """Return a tokenizer without pairs."""
    library = _library()
    tokenizer: Tokenizer = library.Tokenizer(library.models.BPE())
    normalizers, words = library.normalizers, library.pre_tokenizers
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Prepend(" ")])
    split = words.Split(library.Regex(_WORDS), "isolated")
    tokenizer.pre_tokenizer = words.Sequence([split, words.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = library.decoders.ByteLevel()
    return tokenizer
