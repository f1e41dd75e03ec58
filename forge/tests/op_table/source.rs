//! The operations as the source has them: every public method of `Tensor` in `src/ops`.

use crate::{cases, exempt};
use std::collections::BTreeSet;
use std::path::Path;

/// Names of the public methods that `impl` blocks of `ty` declare in one file, macro invocations included.
fn methods(file: &str, ty: &str) -> BTreeSet<String> {
    let parsed = syn::parse_file(file).expect("the source parses");
    let mut found = BTreeSet::new();
    for item in &parsed.items {
        match item {
            syn::Item::Impl(i) if i.trait_.is_none() && self_name(&i.self_ty) == ty => {
                for f in &i.items {
                    let syn::ImplItem::Fn(f) = f else { continue };
                    let has_self = f.sig.receiver().is_some();
                    if matches!(f.vis, syn::Visibility::Public(_)) && has_self {
                        found.insert(f.sig.ident.to_string());
                    }
                }
            }
            // A table of operations: `/// doc` and `name [try_name] [outer_name] [(parameter)] Kernel;` The table's macro
            // makes both the typed and the erased form. Other macros have no documentation inside.
            syn::Item::Macro(m) if m.ident.is_none() => {
                let mut entry_open = false;
                for t in m.mac.tokens.clone() {
                    match t {
                        proc_macro2::TokenTree::Ident(id) => {
                            let name = id.to_string();
                            let lower = name.starts_with(|c: char| c.is_lowercase());
                            if lower && entry_open && !name.starts_with("try_") {
                                found.insert(name);
                            }
                        }
                        proc_macro2::TokenTree::Punct(p) if p.as_char() == '#' => entry_open = true,
                        proc_macro2::TokenTree::Punct(p) if p.as_char() == ';' => entry_open = false,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn self_name(ty: &syn::Type) -> String {
    match ty {
        syn::Type::Path(p) => p.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default(),
        _ => String::new(),
    }
}

fn all(ty: &str) -> BTreeSet<String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ops");
    let mut found = BTreeSet::new();
    for f in std::fs::read_dir(&dir).expect("src/ops exists") {
        let path = f.expect("readable").path();
        if path.extension().is_some_and(|e| e == "rs") {
            found.append(&mut methods(&std::fs::read_to_string(&path).expect("readable"), ty));
        }
    }
    found
}

#[test]
fn every_operation_is_in_the_table() {
    let typed = all("Tensor");
    let erased = all("DynTensor");
    let listed: BTreeSet<String> = cases().iter().map(|c| c.op.to_owned()).collect();
    let excused: BTreeSet<String> = exempt().iter().map(|e| e.0.to_owned()).collect();
    assert!(typed.len() > 40, "the source was not read: {typed:?}");
    let missing: Vec<&String> = typed.iter().filter(|t| !listed.contains(*t) && !excused.contains(*t)).collect();
    assert!(missing.is_empty(), "operations without a case (or a reason in `exempt`): {missing:?}");
    let no_twin: Vec<&String> = typed.iter().filter(|t| !erased.contains(*t) && !excused.contains(*t)).collect();
    assert!(no_twin.is_empty(), "operations without an erased form: {no_twin:?}");
    let stale: Vec<&String> = listed.union(&excused).filter(|l| !typed.contains(*l)).collect();
    assert!(stale.is_empty(), "cases of operations that do not exist: {stale:?}");
}
