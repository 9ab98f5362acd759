//! Reading and writing capture files (safetensors).
