"""From pieces to rules and trust."""
