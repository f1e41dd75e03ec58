//! Tensors made of pieces of others and of constants.

use crate::dtype::Element;
use crate::layout::Strided;
use crate::team;

/// Output elements of one task of the team.
const TASK: usize = 32 * 1024;

/// One part of every row of a [`concat()`].
pub enum Piece<'a, T> {
    /// So many elements of this tensor to a row, in row-major order.
    Data(Strided<'a, T>, usize),
    /// So many times this value.
    Fill(T, usize),
}

impl<T> Piece<'_, T> {
    fn len(&self) -> usize {
        let (Self::Data(_, n) | Self::Fill(_, n)) = self;
        *n
    }
}

/// Rows made of `pieces` side by side, as many as fill `out`.
pub fn concat<T: Element>(out: &mut [T], pieces: &[Piece<T>]) {
    let pieces: Vec<&Piece<T>> = pieces.iter().filter(|p| p.len() > 0).collect();
    let row: usize = pieces.iter().map(|p| p.len()).sum();
    if out.is_empty() {
        return;
    }
    assert!(row > 0 && out.len().is_multiple_of(row), "the pieces do not make whole rows");
    team::for_each_chunk(out, TASK, |c, part| {
        let at = c * TASK;
        let (mut r, mut column, mut p) = (at / row, at % row, 0);
        while column >= pieces[p].len() {
            column -= pieces[p].len();
            p += 1;
        }
        let mut rest = part;
        while !rest.is_empty() {
            let len = pieces[p].len();
            let n = (len - column).min(rest.len());
            let (now, later) = rest.split_at_mut(n);
            match pieces[p] {
                Piece::Data(x, _) => x.copy_to(r * len + column, now),
                Piece::Fill(v, _) => now.fill(*v),
            }
            rest = later;
            column = 0;
            p += 1;
            if p == pieces.len() {
                (p, r) = (0, r + 1);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_all_kinds() {
        let (a, b) = ([1, 2, 3, 4], [5, 6]);
        let mut out = [0; 10];
        let pieces = [
            Piece::Fill(9, 1),
            Piece::Data(Strided::dense(&a, &[2, 2]), 2),
            Piece::Data(Strided::dense(&b, &[2, 0]), 0),
            Piece::Data(Strided::dense(&b, &[2, 1]), 1),
            Piece::Fill(8, 1),
        ];
        concat(&mut out, &pieces);
        assert_eq!(out, [9, 1, 2, 5, 8, 9, 3, 4, 6, 8]);
    }

    #[test]
    fn tasks_begin_anywhere() {
        let n = 3 * TASK + 17;
        let a: Vec<i64> = (0..n as i64 * 2).collect();
        let mut out = vec![0; n * 3];
        concat(&mut out, &[Piece::Data(Strided::dense(&a, &[n, 2]), 2), Piece::Fill(-1, 1)]);
        for (i, r) in out.chunks_exact(3).enumerate() {
            assert_eq!(r, [2 * i as i64, 2 * i as i64 + 1, -1]);
        }
    }
}
