"""What lets sessions go on when the service is started again."""
