"""How attention is computed: one file a backend, `choose` deciding. None imports another but the reference."""
