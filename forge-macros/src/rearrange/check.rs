//! Set logic on the names as written.

use super::{Input, Output, Rearrange};
use crate::errors::Errors;
use crate::syntax::{AxisPath, MAX_AXES, list_text};

pub(super) fn check(r: &Rearrange) -> Errors {
    let mut errors = Errors::default();
    let (input, result) = (r.split_axes(), r.result_axes());
    let parts: Vec<&AxisPath> = r.parts().into_iter().map(|p| &p.axis).collect();

    // One repeated axis repeats in the later lists too; it is told once.
    let repeated = twice(&r.operand_axes(), "in the tensor's list", &mut errors)
        || twice(&input, "in the tensor's list", &mut errors)
        || twice(&parts, "in the result", &mut errors)
        || twice(&result, "in the result", &mut errors);
    if !repeated {
        merges(r, &mut errors);
    }

    for i in &r.input {
        if let Input::Split { whole, parts } = i
            && parts.len() == 1
            && parts[0].size.is_none()
        {
            let (old, new) = (whole.name(), parts[0].axis.name());
            errors.at(whole.span(), format!("one part is a new name: write `{old} => {new}` in the result instead"));
        }
    }
    for p in r.parts() {
        let (name, known) = (p.axis.name(), input.iter().any(|a| a.text() == p.axis.text()));
        if known && p.size.is_some() {
            errors.at(p.axis.span(), format!("`{name}` is an axis of the tensor: a size is for a new axis"));
        } else if let Some(other) = input.iter().find(|a| !known && p.size.is_none() && a.name() == name) {
            let written = other.text().replace(' ', "");
            errors.at(p.axis.span(), format!("write axis `{name}` as in the tensor's list: `{written}`"));
        } else if !known && p.size.is_none() {
            let list = list_text(input.iter().copied());
            errors.at(
                p.axis.span(),
                format!(
                    "output axis `{name}` is not in {list}; to repeat along a new axis, give its size: `{name} = 2`"
                ),
            );
        }
    }
    let vanishing = r.vanishing();
    match &r.reducer {
        None => {
            for a in &vanishing {
                let name = a.name();
                errors.at(
                    a.span(),
                    format!(
                        "axis `{name}` vanishes: say how, with `sum`, `mean`, `max`, `min` or `prod` before the tensor"
                    ),
                );
            }
        }
        Some((reducer, span)) if vanishing.is_empty() => {
            let name = reducer.name();
            errors.at(
                *span,
                format!("nothing to reduce: every axis of the tensor is in the result, so `{name}` has no axis"),
            );
        }
        Some(_) => {}
    }

    let too_many = |list: &[&AxisPath], what: &str, errors: &mut Errors| {
        if let Some(ninth) = list.get(MAX_AXES) {
            errors.at(ninth.span(), format!("{what}: a tensor may have at most 8 axes"));
        }
    };
    too_many(&input, "after the splits", &mut errors);
    too_many(&parts, "before the merges", &mut errors);
    errors
}

/// Merges run one after the other: the name of one may not be that of an axis that a later one takes.
fn merges(r: &Rearrange, errors: &mut Errors) {
    for o in &r.output {
        let Output::Merge { parts: own, into } = o else { continue };
        let named = |p: &&super::Sized| p.axis.text() == into.text();
        if !own.iter().any(|p| named(&p)) && r.parts().iter().any(named) {
            errors.at(into.span(), format!("axis `{}` is still in the tensor here: use another name", into.name()));
        }
    }
}

/// Tells each axis that stands in `list` again.
fn twice(list: &[&AxisPath], place: &str, errors: &mut Errors) -> bool {
    let mut any = false;
    for (i, a) in list.iter().enumerate() {
        if list[..i].iter().any(|b| b.text() == a.text()) {
            errors.at(a.span(), format!("axis `{}` appears twice {place}", a.name()));
            any = true;
        }
    }
    any
}
