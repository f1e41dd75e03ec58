//! The shared vocabulary: two crates' `Batch` are two different axes, so what is to fit together uses these.

crate::axes! {
    /// Independent examples.
    pub Batch,
    /// Everything that a block written with `over` does not name.
    pub Rest,
    /// Positions of a sequence, as queries see them.
    pub Seq,
    /// Positions of a sequence, as keys and values see them.
    pub Key,
    /// Rows of a batch of ragged sequences laid end to end.
    pub Token,
    /// Width of a model's residual stream.
    pub Model,
    /// Width of a feed-forward block.
    pub Ffn,
    /// Attention heads.
    pub Head,
    /// Attention heads of keys and values, where several query heads share one.
    pub KvHead,
    /// Width of one attention head.
    pub HeadDim,
    /// Entries of a vocabulary.
    pub Vocab,
    /// Classes of a classifier.
    pub Class,
    /// Input features.
    pub In,
    /// Output features.
    pub Out,
    /// Hidden features.
    pub Hidden,
    /// Samples or frames in time.
    pub Time,
    /// Channels.
    pub Channel,
    /// Output channels of a convolution.
    pub OutChannel,
    /// Taps of a convolution in time, oldest first.
    pub Tap,
    /// Rows of an image.
    pub Height,
    /// Columns of an image.
    pub Width,
    /// Rows of a kernel.
    pub KernelHeight,
    /// Columns of a kernel.
    pub KernelWidth,
    /// Groups of channels.
    pub Group,
    /// Experts of a mixture.
    pub Expert,
    /// Places of a ranking, best first.
    pub Rank,
    /// Positions picked by a gather.
    pub Pick,
    /// The four gates of an LSTM, in the order input, forget, cell, output.
    pub Gate = 4,
    /// Hidden features as the step before gave them: what a recurrent layer takes in beside its input.
    pub Recurrent,
}
