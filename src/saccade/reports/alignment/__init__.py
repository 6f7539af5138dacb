"""What moves the words of one sentence's translation, and which are put in another order (figure 3 of Bahdanau)."""
