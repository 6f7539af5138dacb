"""Fonts for the pictures of Saccade beyond Latin, Greek and Cyrillic; `saccade.look` finds them here."""
