//! What the file of an image processor says, read as transformers' own classes (on PIL) read it: what it leaves out is
//! the class's default, and a key that no class knows is obeyed by nobody.

use std::{cell::RefCell, collections::BTreeSet};

use serde_json::{Map, Value};

use super::{
    resample::Filter,
    size::{TargetSize, in_multiples_of, sides, size, square_crop},
};

/// How pictures are made ready. Sizes are height and width.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProcessorSettings {
    pub resize: Option<TargetSize>,
    pub filter: Filter,
    pub crop: Option<(usize, usize)>,
    /// Whether half a pixel beside the crop is rounded (torchvision) instead of cut.
    pub crop_rounds: bool,
    pub rescale: Option<f64>,
    pub normalize: Option<Normalize>,
    /// Filled up with zeros at the right and at the bottom, after everything else.
    pub pad: Option<(usize, usize)>,
    /// Whether pictures are resized after they are rescaled, so that nothing is rounded to eight bits.
    pub rescales_first: bool,
    /// What became of the file's keys.
    pub keys: Keys,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Normalize {
    pub mean: [f64; 3],
    pub std: [f64; 3],
}

/// Keys of a processor's file and their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    pub read: Vec<(String, String)>,
    /// Known to change no pixel.
    pub harmless: Vec<(String, String)>,
    /// The class does not have them.
    pub unknown: Vec<(String, String)>,
}

/// Reads the configuration of a model.
type OfModel = fn(&Value) -> Result<ProcessorSettings, String>;

/// What an image processor of transformers does when its file does not say.
#[derive(Debug)]
pub(crate) struct ProcessorClass {
    /// Without `ImageProcessor`.
    name: &'static str,
    filter: Filter,
    mean: [f64; 3],
    std: [f64; 3],
    size: TargetSize,
    /// Whether a single number means both sides; else it is the shortest edge.
    square: bool,
    crops: bool,
    crop_size: Option<(usize, usize)>,
    /// Whether it rescales before it resizes.
    rescales_first: bool,
    /// Resized edges are cut to multiples of this.
    divisor: Option<usize>,
}

/// Of the pictures that CLIP was trained on, red, green, blue.
const CLIP_MEAN: [f64; 3] = [0.481_454_66, 0.457_827_5, 0.408_210_73];
const CLIP_STD: [f64; 3] = [0.268_629_54, 0.261_302_58, 0.275_777_11];
/// Of `ImageNet`.
const IMAGENET_MEAN: [f64; 3] = [0.485, 0.456, 0.406];
const IMAGENET_STD: [f64; 3] = [0.229, 0.224, 0.225];
const HALF: [f64; 3] = [0.5; 3];

impl ProcessorClass {
    pub const VIT: Self = Self {
        name: "ViT",
        filter: Filter::Bilinear,
        mean: HALF,
        std: HALF,
        size: TargetSize::Exact(224, 224),
        square: true,
        crops: false,
        crop_size: None,
        rescales_first: false,
        divisor: None,
    };
    pub const CLIP: Self = Self {
        name: "CLIP",
        filter: Filter::Bicubic,
        mean: CLIP_MEAN,
        std: CLIP_STD,
        size: TargetSize::ShortestEdge(224),
        square: false,
        crops: true,
        crop_size: Some((224, 224)),
        rescales_first: false,
        divisor: None,
    };
    /// Also of DINOv2.
    pub const BIT: Self = Self { name: "Bit", ..Self::CLIP };
    pub const DEIT: Self = Self {
        name: "DeiT",
        filter: Filter::Bicubic,
        size: TargetSize::Exact(256, 256),
        crops: true,
        crop_size: Some((224, 224)),
        ..Self::VIT
    };
    pub const BEIT: Self = Self { name: "Beit", filter: Filter::Bicubic, crop_size: Some((224, 224)), ..Self::VIT };
    pub const DINOV3: Self =
        Self { name: "DINOv3ViT", mean: IMAGENET_MEAN, std: IMAGENET_STD, rescales_first: true, ..Self::VIT };
    /// What transformers has around timm's own; its settings are those of `config.json` alone.
    pub const TIMM: Self = Self {
        name: "TimmWrapper",
        mean: IMAGENET_MEAN,
        std: IMAGENET_STD,
        size: TargetSize::ShortestEdge(256),
        ..Self::CLIP
    };
    /// What OpenCLIP does itself; its settings are those of its configuration alone.
    pub const OPEN_CLIP: Self = Self { name: "OpenCLIP", ..Self::CLIP };
    pub const SIGLIP: Self = Self { name: "Siglip", filter: Filter::Bicubic, square: false, ..Self::VIT };
    /// Pictures keep their shape: the sides of patches and how many there may be say the size.
    pub const SIGLIP2: Self = Self { name: "Siglip2", size: TargetSize::Patches { side: 16, most: 256 }, ..Self::VIT };
    pub const BRIDGETOWER: Self = Self {
        name: "BridgeTower",
        size: TargetSize::ShortestEdge(288),
        crop_size: Some((288, 288)),
        divisor: Some(32),
        ..Self::CLIP
    };

    /// The classes that do nothing but resize, crop, rescale, normalise and pad.
    const ALL: [Self; 13] = [
        Self::VIT,
        Self::CLIP,
        Self { name: "ChineseCLIP", ..Self::CLIP },
        Self::BIT,
        Self::DEIT,
        Self::BEIT,
        Self::DINOV3,
        Self::SIGLIP,
        Self::SIGLIP2,
        Self::BRIDGETOWER,
        Self {
            name: "Blip",
            filter: Filter::Bicubic,
            mean: CLIP_MEAN,
            std: CLIP_STD,
            size: TargetSize::Exact(384, 384),
            ..Self::VIT
        },
        Self { name: "Pvt", filter: Filter::Bicubic, mean: IMAGENET_MEAN, std: IMAGENET_STD, ..Self::VIT },
        Self {
            name: "MobileNetV1",
            size: TargetSize::ShortestEdge(256),
            square: false,
            crops: true,
            crop_size: Some((224, 224)),
            ..Self::VIT
        },
    ];

    /// What reads the model's configuration, where that says everything.
    pub(super) fn of_model(&self) -> Option<OfModel> {
        match self.name {
            name if name == Self::TIMM.name => Some(ProcessorSettings::of_timm),
            name if name == Self::OPEN_CLIP.name => Some(ProcessorSettings::of_open_clip),
            _ => None,
        }
    }

    /// The class that the processor's file names, or `config.json` (`model`), else the `own` of the model's family.
    fn of(file: &File<'_>, model: &Value, own: Option<&'static Self>) -> Result<&'static Self, String> {
        let older = file.text("feature_extractor_type").map(|name| name.replace("FeatureExtractor", "ImageProcessor"));
        let named = file.text("image_processor_type").map(str::to_owned).or(older);
        let named = named.or_else(|| Some(model.get("image_processor_type")?.as_str()?.to_owned()));
        let Some(name) = named else {
            return own.ok_or_else(|| format!("it names no image_processor_type, and {NO_CLASS}"));
        };
        let stem = ["Fast", "Pil"].iter().fold(name.as_str(), |name, end| name.strip_suffix(end).unwrap_or(name));
        let stem = stem.strip_suffix("ImageProcessor");
        Self::ALL.iter().find(|class| Some(class.name) == stem).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|class| class.name).collect();
            format!("it is for “{name}”, which is not supported; those of {} are", known.join(", "))
        })
    }
}

/// Why nothing can be assumed of a processor that no file names.
pub(super) const NO_CLASS: &str = "models of this type have no image processor of their own";

/// Keys that change no pixel: pictures are made of three channels before anything else, as pipelines do; arrays have
/// one layout; the rest is of devices, labels, and how the file was written.
const HARMLESS: [&str; 11] = [
    "_valid_processor_keys",
    "data_format",
    "device",
    "disable_grouping",
    "do_convert_rgb",
    "do_reduce_labels",
    "image_seq_length",
    "input_data_format",
    "processor_class",
    "return_tensors",
    "use_fast",
];

impl ProcessorSettings {
    /// Reads a processor's file; `model` is what `config.json` says, and `own` the class of the model's family.
    ///
    /// # Errors
    /// With a sentence about the file.
    pub fn read(
        file: &Map<String, Value>,
        model: &Value,
        own: Option<&'static ProcessorClass>,
    ) -> Result<Self, String> {
        let file = File { values: file, read: RefCell::default() };
        let class = ProcessorClass::of(&file, model, own)?;
        let square = file.flag("default_to_square", class.square)?;
        if class.name == "CLIP" && file.flag("use_square_size", false)? {
            return Err("use_square_size is not supported".to_owned());
        }
        // Steps that are switched off need nothing.
        let needed = |step: &str, wanted: bool, name: &str, is_there: bool| {
            if wanted && !is_there { Err(format!("{name} is null, but {step} needs it")) } else { Ok(wanted) }
        };
        let mut size = file.or_class("size", Some(class.size), |name, value| size(name, value, square))?;
        if matches!(class.size, TargetSize::Patches { .. }) {
            let side = file.or_class("patch_size", Some(16), whole)?.ok_or("patch_size is null")?;
            let most = file.or_class("max_num_patches", Some(256), whole)?.ok_or("max_num_patches is null")?;
            size = Some(TargetSize::Patches { side, most });
        }
        if let Some(divisor) = class.divisor {
            let divisor = file.or_class("size_divisor", Some(divisor), whole)?.ok_or("size_divisor is null")?;
            size = size.map(|size| in_multiples_of(divisor, size)).transpose()?;
        }
        let filter = file.or_class("resample", Some(class.filter), filter)?;
        let resizes = file.flag("do_resize", true)?;
        needed("do_resize", resizes, "size", size.is_some())?;
        needed("do_resize", resizes, "resample", filter.is_some())?;
        let read_crop = if class.divisor.is_some() { square_crop } else { sides };
        let crop = file.or_class("crop_size", class.crop_size, read_crop)?;
        let crops = needed("do_center_crop", file.flag("do_center_crop", class.crops)?, "crop_size", crop.is_some())?;
        let factor = file.or_class("rescale_factor", Some(1.0 / 255.0), number)?;
        let rescales = needed("do_rescale", file.flag("do_rescale", true)?, "rescale_factor", factor.is_some())?;
        let mean = file.or_class("image_mean", Some(class.mean), channels)?;
        let std = file.or_class("image_std", Some(class.std), channels)?;
        let normalizes = file.flag("do_normalize", true)?;
        needed("do_normalize", normalizes, "image_mean", mean.is_some())?;
        needed("do_normalize", normalizes, "image_std", std.is_some())?;
        if normalizes && std.is_some_and(|std| std.contains(&0.0)) {
            return Err("image_std contains zero".to_owned());
        }
        let pad = file.or_class("pad_size", None, sides)?;
        // One picture by itself is never filled up by a class that fills up to the largest of several.
        let pads = file.flag("do_pad", false)? && class.divisor.is_none();
        if class.rescales_first {
            only_floats(class, crops, pads, resizes && !rescales, filter)?;
        }
        Ok(Self {
            resize: size.filter(|_| resizes),
            filter: filter.unwrap_or(class.filter),
            crop: crop.filter(|_| crops),
            crop_rounds: false,
            rescale: factor.filter(|_| rescales),
            normalize: mean.zip(std).filter(|_| normalizes).map(|(mean, std)| Normalize { mean, std }),
            pad: pad.filter(|_| pads),
            rescales_first: class.rescales_first,
            keys: file.keys(),
        })
    }

    /// What timm's `create_transform` does for `pretrained_cfg` in a model's configuration, or for what stands at its top.
    ///
    /// # Errors
    /// With a sentence about the configuration.
    pub fn of_timm(model: &Value) -> Result<Self, String> {
        let empty = Map::new();
        let values = model.get("pretrained_cfg").unwrap_or(model).as_object().unwrap_or(&empty);
        let file = File { values, read: RefCell::default() };
        let channels = |name: &str, own| Ok::<_, String>(file.or_class(name, Some(own), channels)?.unwrap_or(own));
        let (mean, std) = (channels("mean", IMAGENET_MEAN)?, channels("std", IMAGENET_STD)?);
        let argument = model.get("model_args").and_then(|arguments| arguments.get("img_size"));
        let input = argument.or_else(|| file.get("input_size"));
        let (height, width) = match input.map(|size| (size, size.as_array().map(Vec::as_slice))) {
            None => (224, 224),
            Some((_, Some([_, height, width]))) => {
                sides("input_size", &Value::from(vec![height.clone(), width.clone()]))?
            }
            Some((size, _)) => sides("img_size", size)?,
        };
        let share = file.or_class("crop_pct", Some(0.875), number)?.filter(|share| *share > 0.0).unwrap_or(0.875);
        let scaled = |side: usize| (side as f64 / share).floor() as usize;
        let resize = match file.text("crop_mode").unwrap_or("center") {
            "squash" => TargetSize::Exact(scaled(height), scaled(width)),
            "center" if height == width => TargetSize::ShortestEdge(scaled(height)),
            "center" => TargetSize::Covering(scaled(height), scaled(width)),
            other => return Err(format!("crop_mode is “{other}”, which is not supported")),
        };
        let filter = match file.text("interpolation").unwrap_or("bicubic") {
            "" | "bicubic" => Filter::Bicubic,
            "nearest" => Filter::Nearest,
            "bilinear" => Filter::Bilinear,
            "lanczos" => Filter::Lanczos,
            "box" => Filter::Box,
            "hamming" => Filter::Hamming,
            other => return Err(format!("interpolation is “{other}”, which is not supported")),
        };
        Ok(Self {
            resize: Some(resize),
            filter,
            crop: Some((height, width)),
            crop_rounds: true,
            rescale: Some(1.0 / 255.0),
            normalize: Some(Normalize { mean, std }),
            pad: None,
            rescales_first: false,
            // Those of weights and training are beside them, and no concern of pictures.
            keys: Keys { unknown: Vec::new(), ..file.keys() },
        })
    }

    /// What OpenCLIP's `image_transform` does for `preprocess_cfg` and the picture size of the vision tower.
    ///
    /// # Errors
    /// With a sentence about the configuration.
    pub fn of_open_clip(model: &Value) -> Result<Self, String> {
        let empty = Map::new();
        let values = model.get("preprocess_cfg").and_then(Value::as_object).unwrap_or(&empty);
        let file = File { values, read: RefCell::default() };
        let channels = |name: &str, own| Ok::<_, String>(file.or_class(name, Some(own), channels)?.unwrap_or(own));
        let (mean, std) = (channels("mean", CLIP_MEAN)?, channels("std", CLIP_STD)?);
        // What the tower was made for goes first, as in the library.
        let tower = model.get("model_cfg").and_then(|model| model.get("vision_cfg")?.get("image_size"));
        let (height, width) = match tower.or_else(|| file.get("size")).filter(|size| !size.is_null()) {
            Some(size) => sides("image_size", size)?,
            None => (224, 224),
        };
        let (resize, crop) = match file.text("resize_mode").unwrap_or("shortest") {
            "squash" => (TargetSize::Exact(height, width), None),
            "shortest" if height == width => (TargetSize::ShortestEdge(height), Some((height, width))),
            "shortest" => {
                return Err(format!("resize_mode is shortest for {height} × {width} pixels, which is no square"));
            }
            other => return Err(format!("resize_mode is “{other}”, which is not supported")),
        };
        let filter = match file.text("interpolation").unwrap_or("bicubic") {
            "bilinear" => Filter::Bilinear,
            "bicubic" | "random" => Filter::Bicubic,
            other => return Err(format!("interpolation is “{other}”, which is not supported")),
        };
        if let Some(mode) = file.text("mode").filter(|mode| *mode != "RGB") {
            return Err(format!("mode is “{mode}”, which is not supported"));
        }
        // It fills what stands over only where pictures keep their longest edge.
        file.get("fill_color");
        Ok(Self {
            resize: Some(resize),
            filter,
            crop,
            crop_rounds: true,
            rescale: Some(1.0 / 255.0),
            normalize: Some(Normalize { mean, std }),
            pad: None,
            rescales_first: false,
            keys: file.keys(),
        })
    }

    /// What a class does by default at the model's own picture size, for a model without a processor's file.
    pub fn of_class(class: &ProcessorClass, (height, width): (usize, usize)) -> Self {
        let size = match (class.size, class.divisor) {
            (TargetSize::ShortestEdge(_), Some(divisor)) => TargetSize::Multiples(height, divisor.min(height)),
            (TargetSize::ShortestEdge(_), None) => TargetSize::ShortestEdge(height),
            (patches @ TargetSize::Patches { .. }, _) => patches,
            _ => TargetSize::Exact(height, width),
        };
        Self {
            resize: Some(size),
            filter: class.filter,
            crop: class.crops.then_some((height, width)),
            crop_rounds: false,
            rescale: Some(1.0 / 255.0),
            normalize: Some(Normalize { mean: class.mean, std: class.std }),
            pad: None,
            rescales_first: class.rescales_first,
            keys: Keys::default(),
        }
    }
}

/// A file, and which of its keys were asked for.
struct File<'a> {
    values: &'a Map<String, Value>,
    read: RefCell<BTreeSet<String>>,
}

impl File<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.read.borrow_mut().insert(name.to_owned());
        self.values.get(name)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// `null` is Python's `None`, which is false.
    fn flag(&self, name: &str, default: bool) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            // Python takes numbers for flags.
            Some(Value::Number(number)) => Ok(number.as_f64() != Some(0.0)),
            Some(other) => Err(format!("{name} is {other} instead of true or false")),
        }
    }

    /// What it says, or the class where it is silent; `null` is neither.
    fn or_class<T>(
        &self,
        name: &str,
        class: Option<T>,
        read: impl FnOnce(&str, &Value) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        match self.get(name) {
            None => Ok(class),
            Some(Value::Null) => Ok(None),
            Some(value) => read(name, value).map(Some),
        }
    }

    /// What became of the keys.
    fn keys(&self) -> Keys {
        let mut keys = Keys::default();
        let read = self.read.borrow();
        for (name, value) in self.values {
            let list = match () {
                () if read.contains(name) => &mut keys.read,
                () if HARMLESS.contains(&name.as_str()) => &mut keys.harmless,
                () => &mut keys.unknown,
            };
            list.push((name.clone(), value.to_string()));
        }
        keys
    }
}

/// Refuses what is not done with pictures that are no longer of eight bits.
fn only_floats(
    class: &ProcessorClass,
    crops: bool,
    pads: bool,
    of_bytes: bool,
    filter: Option<Filter>,
) -> Result<(), String> {
    let is_odd = filter.is_some_and(|filter| !matches!(filter, Filter::Bilinear | Filter::Bicubic));
    let what = [
        (crops, "do_center_crop"),
        (pads, "do_pad"),
        (of_bytes, "do_resize without do_rescale"),
        (is_odd, "its resample"),
    ];
    match what.iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(format!("{what} is not supported for {}ImageProcessor", class.name)),
        None => Ok(()),
    }
}

fn whole(name: &str, value: &Value) -> Result<usize, String> {
    let wrong = || format!("{name} is {value}, which is no number of pixels");
    value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0).ok_or_else(wrong)
}

fn number(name: &str, value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| format!("{name} is not a number"))
}

fn filter(name: &str, value: &Value) -> Result<Filter, String> {
    value
        .as_u64()
        .and_then(Filter::from_pil)
        .ok_or_else(|| format!("{name} is {value}, which is not a filter's number"))
}

/// Three numbers, or one for all channels.
fn channels(name: &str, value: &Value) -> Result<[f64; 3], String> {
    let numbers: Option<Vec<f64>> = value.as_array().and_then(|list| list.iter().map(Value::as_f64).collect());
    let three = numbers.and_then(|numbers| numbers.try_into().ok()).or_else(|| Some([value.as_f64()?; 3]));
    three.ok_or_else(|| format!("{name} is not three numbers"))
}
