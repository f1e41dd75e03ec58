//! What `{:?}` shows of a layer: its tensors by name, with axes and sizes, not their values.

use super::module::{Entry, Module, Path};
use std::fmt;

pub(super) fn debug(name: &str, module: &impl Module, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut out = f.debug_struct(name);
    module.visit(&mut Path::root(), &mut |path: &Path, e: Entry<'_>| {
        out.field(path.as_str(), &format_args!("{} {}", e.dtype(), e.axes_text()));
    });
    out.finish()
}

/// `Debug` for a layer. (A derived one would ask it of the axes too.)
macro_rules! debug_layer {
    ($name:ident<$($p:ident: $bound:path),*>) => {
        impl<$($p: $bound),*> std::fmt::Debug for $name<$($p),*> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                super::debug::debug(stringify!($name), self, f)
            }
        }
    };
}
pub(super) use debug_layer;
