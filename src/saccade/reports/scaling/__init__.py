"""The report `scaling`: what an answer costs by the size of the image, for eyes and for networks that see it whole."""
