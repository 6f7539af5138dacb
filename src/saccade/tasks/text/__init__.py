"""Tokenizers, codecs and metrics of texts."""
