"""The report `objects`: captions by the number of things in an image, with attention and by a fixed vector."""
