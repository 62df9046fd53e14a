"""What is known of machines and servers: facts, samples, checks of typed addresses, calibration."""
