"""The simulated phone: Android's wire and shell over one state object, drawn with Skia."""
