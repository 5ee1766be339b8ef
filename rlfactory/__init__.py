"""RLFactory: phones (emulators), sessions (envs), training (trainer). The folders lie at the root of the repository."""
