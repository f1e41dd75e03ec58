//! [`Format`]: how the elements of a stored tensor are laid out in bytes.

use super::QuantError;
use std::fmt;

/// How one block of a format is laid out, from the outside.
#[derive(Clone, Copy)]
struct Entry {
    format: Format,
    name: &'static str,
    block_len: usize,
    block_bytes: usize,
}

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $text:literal, $len:literal, $bytes:literal;)+) => {
        /// How the elements of a tensor are stored: every type that a GGUF file may name, by ggml's id.
        ///
        /// A quantised format stores a row in blocks of [`block_len`](Self::block_len) elements, each
        /// [`block_bytes`](Self::block_bytes) bytes long; a plain number type has blocks of one element.
        ///
        /// ```
        /// use forge_kernels::quant::Format;
        /// let f = Format::from_id(12)?;
        /// assert_eq!((f, f.name(), f.block_len(), f.block_bytes()), (Format::Q4_K, "Q4_K", 256, 144));
        /// assert_eq!(f.row_bytes(1024)?, 4 * 144);
        /// assert!(f.row_bytes(1000).is_err());
        /// # Ok::<(), forge_kernels::quant::QuantError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types, reason = "the names that the field writes")]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Format {
            $($(#[$doc])* $name = $id,)+
        }

        impl Format {
            /// Every format, by rising id.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            const fn entry(self) -> Entry {
                match self {
                    $(Self::$name => Entry { format: self, name: $text, block_len: $len, block_bytes: $bytes },)+
                }
            }
        }
    };
}

formats! {
    /// IEEE single precision.
    F32 = 0, "F32", 1, 4;
    /// IEEE half precision.
    F16 = 1, "F16", 1, 2;
    /// 4-bit codes minus 8, one scale.
    Q4_0 = 2, "Q4_0", 32, 18;
    /// 4-bit codes, scale and minimum.
    Q4_1 = 3, "Q4_1", 32, 20;
    /// 5-bit codes minus 16, one scale.
    Q5_0 = 6, "Q5_0", 32, 22;
    /// 5-bit codes, scale and minimum.
    Q5_1 = 7, "Q5_1", 32, 24;
    /// Signed bytes, one scale.
    Q8_0 = 8, "Q8_0", 32, 34;
    /// Signed bytes, one scale and the scaled sum of the block: a format of activations.
    Q8_1 = 9, "Q8_1", 32, 36;
    /// 2-bit codes; 4-bit scales and minima per 16.
    Q2_K = 10, "Q2_K", 256, 84;
    /// 3-bit codes; 6-bit scales per 16.
    Q3_K = 11, "Q3_K", 256, 110;
    /// 4-bit codes; 6-bit scales and minima per 32.
    Q4_K = 12, "Q4_K", 256, 144;
    /// 5-bit codes; 6-bit scales and minima per 32.
    Q5_K = 13, "Q5_K", 256, 176;
    /// 6-bit codes; 8-bit scales per 16.
    Q6_K = 14, "Q6_K", 256, 210;
    /// Signed bytes, single-precision scale and sums per 16: a format of activations.
    Q8_K = 15, "Q8_K", 256, 292;
    /// Points of a codebook of 256 in eight dimensions, signs by parity.
    IQ2_XXS = 16, "IQ2_XXS", 256, 66;
    /// Points of a codebook of 512 in eight dimensions, signs by parity.
    IQ2_XS = 17, "IQ2_XS", 256, 74;
    /// Points of a codebook of 256 in four dimensions, signs by parity.
    IQ3_XXS = 18, "IQ3_XXS", 256, 98;
    /// Ternary points of a codebook of 2048 in eight dimensions, shifted by an eighth; scales per 32.
    IQ1_S = 19, "IQ1_S", 256, 50;
    /// 4-bit indices into sixteen uneven levels, one scale.
    IQ4_NL = 20, "IQ4_NL", 32, 18;
    /// Points of a codebook of 512 in four dimensions, explicit signs.
    IQ3_S = 21, "IQ3_S", 256, 110;
    /// Points of a codebook of 1024 in eight dimensions, explicit signs.
    IQ2_S = 22, "IQ2_S", 256, 82;
    /// The levels of `IQ4_NL` with 6-bit scales per 32.
    IQ4_XS = 23, "IQ4_XS", 256, 136;
    /// Signed bytes.
    I8 = 24, "I8", 1, 1;
    /// Signed 16-bit integers.
    I16 = 25, "I16", 1, 2;
    /// Signed 32-bit integers.
    I32 = 26, "I32", 1, 4;
    /// Signed 64-bit integers.
    I64 = 27, "I64", 1, 8;
    /// IEEE double precision.
    F64 = 28, "F64", 1, 8;
    /// As `IQ1_S`, with scales per 16 and shifts per 8.
    IQ1_M = 29, "IQ1_M", 256, 56;
    /// The upper half of single precision.
    BF16 = 30, "BF16", 1, 2;
    /// Ternary digits, five to a byte.
    TQ1_0 = 34, "TQ1_0", 256, 54;
    /// Ternary digits, four to a byte.
    TQ2_0 = 35, "TQ2_0", 256, 66;
    /// 4-bit floating point (E2M1) with a power-of-two scale per 32 (OCP MX).
    MXFP4 = 39, "MXFP4", 32, 17;
    /// 4-bit floating point (E2M1) with an 8-bit floating-point scale (E4M3) per 16.
    NVFP4 = 40, "NVFP4", 64, 36;
    /// Signs, one scale.
    Q1_0 = 41, "Q1_0", 128, 18;
    /// 2-bit codes minus 1, one scale.
    Q2_0 = 42, "Q2_0", 64, 18;
}

impl Format {
    /// The format of a ggml type id.
    ///
    /// # Errors
    /// [`QuantError::RemovedFormat`] for an id that files once used and no longer may, [`QuantError::UnknownFormat`]
    /// for one that was never given out.
    pub fn from_id(id: u32) -> Result<Self, QuantError> {
        let removed = match id {
            4 => Some("Q4_2"),
            5 => Some("Q4_3"),
            31 => Some("Q4_0_4_4"),
            32 => Some("Q4_0_4_8"),
            33 => Some("Q4_0_8_8"),
            36 => Some("IQ4_NL_4_4"),
            37 => Some("IQ4_NL_4_8"),
            38 => Some("IQ4_NL_8_8"),
            _ => None,
        };
        if let Some(name) = removed {
            return Err(QuantError::RemovedFormat { id, name });
        }
        Self::ALL.iter().copied().find(|f| f.id() == id).ok_or(QuantError::UnknownFormat { id })
    }

    /// The format that is called so, in any case of letters (`q4_k`, `Q4_K`).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|f| f.name().eq_ignore_ascii_case(name))
    }

    /// ggml's type id.
    pub const fn id(self) -> u32 {
        self.entry().format as u32
    }

    /// What ggml calls it.
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// Elements in a block; a row holds a whole number of blocks.
    pub const fn block_len(self) -> usize {
        self.entry().block_len
    }

    /// Bytes of a block.
    pub const fn block_bytes(self) -> usize {
        self.entry().block_bytes
    }

    /// Whether several elements share a block.
    pub const fn is_quantised(self) -> bool {
        self.block_len() > 1
    }

    /// Whether the elements stand for real numbers, so that [`decode`](super::decode()) has a meaning: all but the integers.
    pub const fn is_real(self) -> bool {
        !matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Bytes of a row of `len` elements.
    ///
    /// # Errors
    /// [`QuantError::PartialBlock`] when `len` is not a whole number of blocks, [`QuantError::TooLarge`] when the bytes
    /// cannot be counted.
    pub const fn row_bytes(self, len: usize) -> Result<usize, QuantError> {
        if !len.is_multiple_of(self.block_len()) {
            return Err(QuantError::PartialBlock { format: self, len });
        }
        match (len / self.block_len()).checked_mul(self.block_bytes()) {
            Some(bytes) => Ok(bytes),
            None => Err(QuantError::TooLarge { format: self, len }),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
