"""Files, notes and the machine: the dealings of every part with the system."""
