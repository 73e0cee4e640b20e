"""The tours of the other families, a module each; that of the Transformer itself is `regard.showcase`."""
