"""What all commands have in common: options, messages, progress and interrupts."""
