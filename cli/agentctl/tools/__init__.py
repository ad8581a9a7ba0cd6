"""What the model may call: tools, how they are found, checked and executed."""
