"""What a translator attends to in one sentence, and which words it puts in another order (figure 3 of Bahdanau)."""
