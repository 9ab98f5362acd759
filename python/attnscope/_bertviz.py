"""The functions of BertViz, with its arguments in its order."""

from ._arrays import AttentionError
from ._program import show


def head_view(
    attention=None,
    tokens=None,
    sentence_b_start=None,
    prettify_tokens=True,
    layer=None,
    heads=None,
    encoder_attention=None,
    decoder_attention=None,
    cross_attention=None,
    encoder_tokens=None,
    decoder_tokens=None,
    include_layers=None,
    html_action="view",
    **options,
):
    """One head or several as lines between tokens; see ``show`` for the other options."""
    return show(
        attention,
        tokens,
        sentence_b_start,
        prettify_tokens=prettify_tokens,
        layer=layer,
        heads=heads,
        encoder_attention=encoder_attention,
        decoder_attention=decoder_attention,
        cross_attention=cross_attention,
        encoder_tokens=encoder_tokens,
        decoder_tokens=decoder_tokens,
        include_layers=include_layers,
        html_action=html_action,
        **options,
    )


def model_view(
    attention=None,
    tokens=None,
    sentence_b_start=None,
    prettify_tokens=True,
    display_mode="dark",
    encoder_attention=None,
    decoder_attention=None,
    cross_attention=None,
    encoder_tokens=None,
    decoder_tokens=None,
    include_layers=None,
    include_heads=None,
    html_action="view",
    **options,
):
    """Every head of every layer: a figure has them on one sheet, as heatmaps of the stack that is named or the first one;
    the window shows one, with the others one click away. Dark unless told otherwise."""
    options = {"view": "heatmap", "all_heads": True, **options}
    return show(
        attention,
        tokens,
        sentence_b_start,
        prettify_tokens=prettify_tokens,
        display_mode=display_mode,
        encoder_attention=encoder_attention,
        decoder_attention=decoder_attention,
        cross_attention=cross_attention,
        encoder_tokens=encoder_tokens,
        decoder_tokens=decoder_tokens,
        include_layers=include_layers,
        include_heads=include_heads,
        html_action=html_action,
        **options,
    )


class _NeuronView:
    """BertViz' module of this name runs a model of its own; here a model is opened by the program."""

    def show(self, model=None, model_type=None, tokenizer=None, sentence_a=None, sentence_b=None, *args, **options):
        raise AttentionError(
            "neuron_view needs queries and keys, which a model's output does not have: save the model with "
            "model.save_pretrained(folder) and tokenizer.save_pretrained(folder), then run `attnscope open folder --text "
            '"…"`, where Scatter shows queries with keys, or give head_view a TransformerLens cache'
        )

    __call__ = show


neuron_view = _NeuronView()
