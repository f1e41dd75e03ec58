use super::*;

/// What the user wrote, as calls: without paths, bindings and spaces.
fn run(input: TokenStream) -> String {
    let text = expand(quote!(forge; #input)).map_or_else(|e| format!("error: {e}"), |t| t.to_string());
    if text.contains("error") {
        return text;
    }
    text.replace(' ', "").replace("forge::__private::", "").replace("as::core::default::Default>::default()", ">()")
}

#[test]
fn permute_only() {
    let got = run(quote!(x[Batch, Seq, Head] -> [Head, Batch, Seq]));
    assert!(got.contains("letx:&forge::Tensor<(Batch,Seq,Head),_>=&x;"), "{got}");
    assert!(got.contains("x.permute::<(Head,Batch,Seq)>()"), "{got}");
    assert!(!run(quote!(x[Batch, Seq] -> [Batch, Seq])).contains("permute"));
}

#[test]
fn split_with_one_size_left_open() {
    let got = run(quote!(x[Batch, Seq, Model => (Head = 8, HeadDim)] -> [Batch, Head, Seq, HeadDim]));
    assert!(got.contains("letsize0:axes_algebra::SizeArg<Head>=8;"), "{got}");
    assert!(got.contains("letsize1=what_is_left::<HeadDim>(x.size(<Model>()),[size_of_arg::<Head>(size0)]);"), "{got}");
    assert!(got.contains("x.split(<Model>(),(<Head>(),<HeadDim>()),(size0,size1))"), "{got}");
    assert!(got.contains("x.permute::<(Batch,Head,Seq,HeadDim)>()"), "{got}");
    assert!(!got.contains("one_is_fixed"), "{got}");
    let got = run(quote!(x[Model => (A, B, C)] -> [A, B, C]));
    assert_eq!(got.matches("one_is_fixed").count(), 3, "two sizes may not both be unknown: {got}");
}

#[test]
fn merge_after_permute() {
    let got = run(quote!(x[Batch, Head, Seq, HeadDim] -> [Batch, Seq, (Head, HeadDim) => Model]));
    assert!(got.contains("x.permute::<(Batch,Seq,Head,HeadDim)>()"), "{got}");
    assert!(got.contains("x.merge((<Head>(),<HeadDim>()),<Model>())"), "{got}");
    assert!(got.contains("letx:&forge::Tensor<(Batch,Seq,Model),_>"), "{got}");
}

#[test]
fn rename_repeat_reduce() {
    assert!(run(quote!(x[Batch, Seq] -> [Batch, Seq => Key])).contains("x.rename(<Seq>(),<Key>())"));
    let got = run(quote!(x[Batch, Seq] -> [Batch, Copy = 3, Seq]));
    assert!(got.contains("x.insert(<Copy>()).expand(<Copy>(),3)"), "{got}");
    assert!(got.contains("permute::<(Batch,Copy,Seq)>"), "{got}");
    assert!(!run(quote!(x[Batch] -> [Batch, Copy = 3])).contains("permute"));
    let got = run(quote!(mean x[Batch, Height, Width] -> [Batch]));
    assert!(got.contains("x.mean((<Height>(),<Width>()))"), "{got}");
    assert!(!got.contains("permute"), "{got}");
    assert!(run(quote!(max self.x[Batch, Height] -> [Batch])).contains("x.max(<Height>())"));
    assert!(run(quote!(sum (x + y)[Batch] -> [])).contains("x.sum(<Batch>())"));
    // pooling: split, then reduce a part
    let got = run(quote!(max x[Batch, Time => (Frame, Tap = 2)] -> [Batch, Frame]));
    assert!(got.contains("x.split(") && got.contains("x.max(<Tap>())"), "{got}");
    // a variable may be called like a reduction
    assert!(run(quote!(max[Batch, Seq] -> [Seq, Batch])).contains("=&max;"));
    assert!(run(quote!(max.x[Batch, Seq] -> [Seq, Batch])).contains("=&max.x;"));
    // repeated into a merged axis
    assert!(run(quote!(x[Batch] -> [(Batch, Copy = 3) => Big])).contains("x.merge((<Batch>(),<Copy>()),<Big>())"));
    // one name under two paths may be two axes
    assert!(run(quote!(x[a::Batch, Batch] -> [Batch, a::Batch])).contains("x.permute::<(Batch,a::Batch)>()"));
    // a name may be used again for what it became
    assert!(!run(quote!(x[Model => (Head, Model = 4)] -> [Head, Model])).contains("error"));
    assert!(!run(quote!(x[Head, Dim] -> [(Head, Dim) => Dim])).contains("error"));
}

#[test]
fn mistakes() {
    let has = |input: TokenStream, words: &[&str]| {
        let got = run(input);
        for w in words {
            assert!(got.contains(w), "{w:?} is not in {got}");
        }
        assert_eq!(
            got.matches("compile_error").count(),
            if got.starts_with("error") { 0 } else { words.len() },
            "{got}"
        );
    };
    has(quote!(x[Batch, Height] -> [Batch]), &["axis `Height` vanishes: say how, with `sum`"]);
    has(quote!(x[Batch] -> [Batch, Head]), &["output axis `Head` is not in [Batch]; to repeat"]);
    has(quote!(x[Batch] -> [Batch = 3]), &["`Batch` is an axis of the tensor: a size is for a new axis"]);
    has(quote!(mean x[Batch, In] -> [In, Batch]), &["nothing to reduce"]);
    has(quote!(x[Batch, Batch] -> [Batch]), &["axis `Batch` appears twice in the tensor's list"]);
    has(quote!(x[Batch, In] -> [Batch, In, Batch]), &["axis `Batch` appears twice in the result"]);
    has(
        quote!(x[Batch, Model => (Batch, In = 2)] -> [Batch, In]),
        &["axis `Batch` appears twice in the tensor's list"],
    );
    has(quote!(x[A, B, C] -> [A, (B, C) => A]), &["axis `A` appears twice in the result"]);
    has(
        quote!(x[A, B, C, D] -> [(A, B) => C, (C, D) => B]),
        &["axis `C` is still in the tensor", "axis `B` is still in the tensor"],
    );
    has(quote!(sum x[a::Batch] -> [Batch]), &["write axis `Batch` as in the tensor's list: `a::Batch`"]);
    has(quote!(x[A => (B)] -> [B]), &["one part is a new name: write `A => B` in the result"]);
    has(
        quote!(x[A, B, C, D, E, F, G, H => (I = 2, J)] -> [A, B, C, D, E, F, G, I, J]),
        &["after the splits", "before the merges"],
    );
    has(quote!(avg x[Batch] -> []), &["`avg` is no reduction: use `sum`, `mean`"]);
    has(quote!(x[(Head, Dim) => Model] -> [Model]), &["the whole axis first"]);
    has(quote!(x[Model = 3] -> [Model]), &["only new axes are given one"]);
    has(quote!(x[Model => Head] -> [Head]), &["expected the parts of `Model` in parentheses"]);
    has(quote!(x[Model] -> [Model => (Head, Dim)]), &["a split stands in the tensor's list"]);
    has(quote!(x[A, B] -> [(A, B)]), &["the axis that these are merged into"]);
    has(quote!(x[A] -> [() => B]), &["names of axes in the parentheses"]);
    has(quote!(x[A], y[B] -> [A]), &["the axes of the result"]);
    has(quote!(x[A] -> [A], y), &["takes one tensor"]);
}
