//! File names that say what is in the file.

/// How much of the input a name quotes, in characters.
const MAX_INPUT: usize = 24;
/// How much of the model a name quotes, in characters.
const MAX_MODEL: usize = 40;

/// A name such as `demo-gpt_once-upon-a-time_L2H3_heads.png`: ASCII letters, digits, `-` and `_` only.
///
/// `part` is what of the model is in the file, such as `L2H3`. Left out are an empty `input` and an empty `part`.
pub fn default_file_name(model: &str, input: &str, part: &str, view: &str, extension: &str) -> String {
    let model = slug(model, MAX_MODEL);
    let model = if model.is_empty() { "attention".to_owned() } else { model };
    let parts = [model, slug(input, MAX_INPUT), part.to_owned(), slug(view, MAX_MODEL)];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{}.{extension}", parts.join("_"))
}

/// Runs of anything but ASCII letters and digits become one `-`; at most `max` characters, cut after a word
/// where there is one.
fn slug(text: &str, max: usize) -> String {
    let mut slug = String::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let separator = usize::from(!slug.is_empty());
        if slug.len() + separator + word.len() > max {
            if slug.is_empty() {
                slug.push_str(&word[..max]);
            }
            break;
        }
        if separator > 0 {
            slug.push('-');
        }
        slug.push_str(word);
    }
    slug
}
