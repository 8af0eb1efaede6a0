"""What the library talks about: ellipsoids, half-spaces, distances and overlap."""
