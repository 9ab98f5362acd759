//! The same in the plane and in space: what runs is chosen once, by the number of dimensions.

/// In two dimensions, or in three.
#[derive(Clone, Debug)]
pub(super) enum InDims<Plane, Space> {
    Plane(Plane),
    Space(Space),
}

/// Does the same to whichever it is.
macro_rules! in_dims {
    ($run:expr, $name:ident => $what:expr) => {
        match $run {
            $crate::projection::dims::InDims::Plane($name) => $what,
            $crate::projection::dims::InDims::Space($name) => $what,
        }
    };
}
pub(super) use in_dims;
