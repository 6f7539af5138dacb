"""How far outputs reach into inputs, and whether they find what decides them, with attention and without."""
