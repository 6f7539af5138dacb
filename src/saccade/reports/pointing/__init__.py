"""The report `pointing`: whether the cells that a model attends to are those that its answer depends on."""
