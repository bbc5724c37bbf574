"""Code generation: fused ops -> GLSL -> SPIR-V."""
