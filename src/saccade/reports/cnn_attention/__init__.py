"""The report `cnn-attention`: what self-attention adds to a convolutional network of as many parameters."""
