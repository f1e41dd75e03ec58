//! Options, error cases, NaN rules and golden values of the operations that make, select and assemble tensors. (Their
//! values and gradients on random inputs: `op_table`.)

mod assemble;
mod close;
mod construct;
mod index;
mod integer;
mod npy;
mod over;
