//! Pure pixels: colour maps, heatmaps and overlays, shared by textures and by export.
