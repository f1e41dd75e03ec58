//! The types of a tensor's elements: number, name, elements and bytes of a block.

use crate::error::GgufError;

/// The type of a tensor's elements, as ggml numbers them.
///
/// Elements stand in blocks along the first (fastest) size of a tensor; a plain number is a block of one.
///
/// ```
/// use forge_gguf::GgmlType;
/// assert_eq!(GgmlType::Q4_K.bytes_of(512), Some(2 * 144));
/// assert_eq!(GgmlType::from_id(12), Some(GgmlType::Q4_K));
/// assert_eq!("q4_k".parse(), Ok(GgmlType::Q4_K));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[allow(non_camel_case_types, reason = "the names by which users know the formats")]
#[allow(missing_docs, reason = "the table below says what each is")]
#[non_exhaustive]
pub enum GgmlType {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q8_1 = 9,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    Q8_K = 15,
    IQ2_XXS = 16,
    IQ2_XS = 17,
    IQ3_XXS = 18,
    IQ1_S = 19,
    IQ4_NL = 20,
    IQ3_S = 21,
    IQ2_S = 22,
    IQ4_XS = 23,
    I8 = 24,
    I16 = 25,
    I32 = 26,
    I64 = 27,
    F64 = 28,
    IQ1_M = 29,
    BF16 = 30,
    TQ1_0 = 34,
    TQ2_0 = 35,
    MXFP4 = 39,
    NVFP4 = 40,
    Q1_0 = 41,
    Q2_0 = 42,
}

use GgmlType::*;

/// Type, name, elements of a block, bytes of a block.
const TABLE: &[(GgmlType, &str, u32, u32)] = &[
    (F32, "F32", 1, 4),
    (F16, "F16", 1, 2),
    (Q4_0, "Q4_0", 32, 18),
    (Q4_1, "Q4_1", 32, 20),
    (Q5_0, "Q5_0", 32, 22),
    (Q5_1, "Q5_1", 32, 24),
    (Q8_0, "Q8_0", 32, 34),
    (Q8_1, "Q8_1", 32, 36),
    (Q2_K, "Q2_K", 256, 84),
    (Q3_K, "Q3_K", 256, 110),
    (Q4_K, "Q4_K", 256, 144),
    (Q5_K, "Q5_K", 256, 176),
    (Q6_K, "Q6_K", 256, 210),
    (Q8_K, "Q8_K", 256, 292),
    (IQ2_XXS, "IQ2_XXS", 256, 66),
    (IQ2_XS, "IQ2_XS", 256, 74),
    (IQ3_XXS, "IQ3_XXS", 256, 98),
    (IQ1_S, "IQ1_S", 256, 50),
    (IQ4_NL, "IQ4_NL", 32, 18),
    (IQ3_S, "IQ3_S", 256, 110),
    (IQ2_S, "IQ2_S", 256, 82),
    (IQ4_XS, "IQ4_XS", 256, 136),
    (I8, "I8", 1, 1),
    (I16, "I16", 1, 2),
    (I32, "I32", 1, 4),
    (I64, "I64", 1, 8),
    (F64, "F64", 1, 8),
    (IQ1_M, "IQ1_M", 256, 56),
    (BF16, "BF16", 1, 2),
    (TQ1_0, "TQ1_0", 256, 54),
    (TQ2_0, "TQ2_0", 256, 66),
    (MXFP4, "MXFP4", 32, 17),
    (NVFP4, "NVFP4", 64, 36),
    (Q1_0, "Q1_0", 128, 18),
    (Q2_0, "Q2_0", 64, 18),
];

/// Numbers that once had a meaning.
const WITHDRAWN: &[(u32, &str)] = &[
    (4, "Q4_2"),
    (5, "Q4_3"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (33, "Q4_0_8_8"),
    (36, "IQ4_NL_4_4"),
    (37, "IQ4_NL_4_8"),
    (38, "IQ4_NL_8_8"),
];

impl GgmlType {
    /// Every type, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|t| t.0)
    }

    fn row(self) -> &'static (GgmlType, &'static str, u32, u32) {
        TABLE.iter().find(|t| t.0 == self).expect("every variant has a row")
    }

    /// The type of number `id`; `None` for a number that never had a meaning or has lost it.
    pub fn from_id(id: u32) -> Option<Self> {
        Self::all().find(|t| t.id() == id)
    }

    /// The number in a file.
    pub fn id(self) -> u32 {
        self as u32
    }

    /// The name, as ggml's tools print it: `Q4_K`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Elements of a block.
    pub fn block(self) -> usize {
        self.row().2 as usize
    }

    /// Bytes of a block.
    pub fn block_bytes(self) -> usize {
        self.row().3 as usize
    }

    /// Whether a block is more than one number.
    pub fn is_quantized(self) -> bool {
        self.block() > 1
    }

    /// Bytes of `elements` elements in whole blocks; `None` if they do not fill blocks, or the number overflows.
    pub fn bytes_of(self, elements: u64) -> Option<u64> {
        let block = self.block() as u64;
        if !elements.is_multiple_of(block) {
            return None;
        }
        (elements / block).checked_mul(self.block_bytes() as u64)
    }

    /// The type of number `id` in a file, where it is that of `tensor`.
    pub(crate) fn read(id: u32, tensor: &str) -> Result<Self, GgufError> {
        Self::from_id(id).ok_or_else(|| {
            let tensor = tensor.to_owned();
            match WITHDRAWN.iter().find(|w| w.0 == id) {
                Some((_, name)) => GgufError::UnknownTensorType {
                    tensor,
                    id,
                    name: format!(" ({name})"),
                    why: "ggml has withdrawn: quantise the model again with a current tool",
                },
                None => GgufError::UnknownTensorType {
                    tensor,
                    id,
                    name: String::new(),
                    why: "does not exist: the file is damaged or newer than this library",
                },
            }
        })
    }
}

impl std::fmt::Display for GgmlType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for GgmlType {
    type Err = String;

    /// Reads a name in either case.
    fn from_str(s: &str) -> Result<Self, String> {
        Self::all().find(|t| t.name().eq_ignore_ascii_case(s)).ok_or_else(|| {
            let names: Vec<&str> = Self::all().map(Self::name).collect();
            format!("unknown format `{s}`; there are {}", names.join(", "))
        })
    }
}
