//! Integer division, remainders, bits.

use forge::prelude::*;

axes! { A, B }

#[test]
fn the_divisions_differ_in_rounding() {
    let x = Tensor::<A, i32>::from([-7, 7, -7, 7]);
    let y = Tensor::<A, i32>::from([2, -2, -2, 2]);
    assert_eq!(x.div_trunc(&y).to_vec(), [-3, -3, 3, 3]);
    assert_eq!(x.div_floor(&y).to_vec(), [-4, -4, 3, 3]);
    assert_eq!(x.rem(&y).to_vec(), [-1, 1, -1, 1]);
    assert_eq!(x.modulo(&y).to_vec(), [1, -1, -1, 1]);
    let lowest = Tensor::<A, i8>::from([i8::MIN]);
    let minus = Tensor::<A, i8>::from([-1]);
    assert_eq!(lowest.div_trunc(&minus).item(), i8::MIN);
    assert_eq!(lowest.div_floor(&minus).item(), i8::MIN);
    assert_eq!((lowest.rem(&minus).item(), lowest.modulo(&minus).item()), (0, 0));
    // One divisor for all.
    assert_eq!(x.modulo(&Tensor::<(), i32>::scalar(3)).to_vec(), [2, 1, 2, 1]);
}

#[test]
fn a_zero_divisor_is_an_error() {
    let x = Tensor::<A, u8>::from([1, 2]);
    let e = x.try_rem(&Tensor::<A, u8>::from([1, 0])).unwrap_err().to_string();
    assert_eq!(e, "rem: the divisor holds a zero, and integers have no infinity");
    for e in [
        x.try_div_trunc(&Tensor::<A, u8>::from([0, 0])),
        x.try_div_floor(&Tensor::<A, u8>::from([0, 1])),
        x.try_modulo(&Tensor::<A, u8>::from([0, 1])),
    ] {
        assert!(e.is_err());
    }
    let none = Tensor::<A, u8>::from([]);
    assert_eq!(none.rem(&Tensor::<(), u8>::scalar(0)).shape(), [0]);
    let f = Tensor::<A>::from([1.]).erase();
    assert_eq!(f.rem(&f).unwrap_err().to_string(), "rem: not defined for f32; it takes integers");
}

#[test]
fn bits_of_integers_and_bools() {
    let x = Tensor::<(A, B), u8>::from([[0b1100, 0xff], [0, 1]]);
    let m = Tensor::<B, u8>::from([0b1010, 0x0f]);
    assert_eq!((&x & &m).to_vec(), [0b1000, 0x0f, 0, 1]);
    assert_eq!((&x | &m).to_vec(), [0b1110, 0xff, 0b1010, 0x0f]);
    assert_eq!((&x ^ &m).to_vec(), [0b0110, 0xf0, 0b1010, 0x0e]);
    assert_eq!((!&x).to_vec(), [0xf3, 0, 0xff, 0xfe]);
    let (p, q) = (Tensor::<A, bool>::from([true, true, false]), Tensor::<A, bool>::from([true, false, false]));
    assert_eq!((&p & &q).to_vec(), [true, false, false]);
    assert_eq!((&p ^ &q).to_vec(), [false, true, false]);
    assert_eq!((p.clone() | q.clone()).to_vec(), [true, true, false]);
    assert_eq!((!p & !q).to_vec(), [false, false, true]);
    let f = Tensor::<A>::from([1.]).erase();
    assert_eq!(f.bit_not().unwrap_err().to_string(), "bit_not: not defined for f32; it takes integers or bools");
}
