"""Speech recognition: a recording in, its words out."""
