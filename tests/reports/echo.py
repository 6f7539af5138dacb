from study_rows import Characters, Echo

__all__ = ["Characters", "Echo"]
