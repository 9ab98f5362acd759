"""Noun phrases and journeys in three languages, for `train_translate.py`.

Tatoeba's sentences are everyday talk: a thing that has both an owner and a colour is rare in them, and
so is somebody on the way to something. These are put together from words, with their genders and cases,
so that the translator sees often enough what changes places: "my uncle's blue bag", "le sac bleu de mon
oncle", "die blaue Tasche meines Onkels". A few pairs of words never meet here (`APART`): that the model
can put them together is for it to show.
"""

import numpy as np

# English, German with its gender, French with its gender.
THINGS = """
hat|Hut m|chapeau m; bag|Tasche f|sac m; car|Auto n|voiture f; house|Haus n|maison f; book|Buch n|livre m
dog|Hund m|chien m; cat|Katze f|chat m; dress|Kleid n|robe f; shirt|Hemd n|chemise f; coat|Mantel m|manteau m
bicycle|Fahrrad n|vélo m; boat|Boot n|bateau m; door|Tür f|porte f; table|Tisch m|table f; chair|Stuhl m|chaise f
key|Schlüssel m|clé f; umbrella|Regenschirm m|parapluie m; horse|Pferd n|cheval m; bird|Vogel m|oiseau m
garden|Garten m|jardin m; room|Zimmer n|chambre f; bed|Bett n|lit m; cup|Tasse f|tasse f; knife|Messer n|couteau m
guitar|Gitarre f|guitare f; letter|Brief m|lettre f; watch|Uhr f|montre f; ring|Ring m|bague f; skirt|Rock m|jupe f
phone|Telefon n|téléphone m; computer|Computer m|ordinateur m; tree|Baum m|arbre m; flower|Blume f|fleur f
pen|Stift m|stylo m; box|Kiste f|boîte f; picture|Bild n|image f; glass|Glas n|verre m; ball|Ball m|ballon m
truck|Lastwagen m|camion m; bus|Bus m|bus m; train|Zug m|train m; church|Kirche f|église f; school|Schule f|école f
"""
PLACES = "car house boat tree door truck bus train church school garden horse bicycle dog table box".split()
# English, the German stem, French masculine and feminine, and whether French puts it before the noun.
QUALITIES = """
red|rot|rouge|rouge; green|grün|vert|verte; blue|blau|bleu|bleue; black|schwarz|noir|noire
white|weiß|blanc|blanche; yellow|gelb|jaune|jaune; brown|braun|marron|marron; gray|grau|gris|grise
small|klein|petit|petite|before; big|groß|grand|grande|before; expensive|teuer|cher|chère
broken|kaputt|cassé|cassée; pretty|hübsch|joli|jolie|before; empty|leer|vide|vide
"""
# English, the German genitive behind the thing or (with `<`) before it, French after "de".
OWNERS = """
my father's|meines Vaters|mon père; my mother's|meiner Mutter|ma mère; my brother's|meines Bruders|mon frère
my sister's|meiner Schwester|ma sœur; my friend's|meines Freundes|mon ami; my uncle's|meines Onkels|mon oncle
my aunt's|meiner Tante|ma tante; my teacher's|meines Lehrers|mon professeur; his father's|seines Vaters|son père
her mother's|ihrer Mutter|sa mère; my wife's|meiner Frau|ma femme; my son's|meines Sohnes|mon fils
my daughter's|meiner Tochter|ma fille; his wife's|seiner Frau|sa femme; her son's|ihres Sohnes|son fils
Tom's|<Toms|Tom; Mary's|<Marias|Marie; the teacher's|des Lehrers|le professeur; the doctor's|des Arztes|le médecin
"""
SUBJECTS = """
a woman|eine Frau|une femme; a man|ein Mann|un homme; a boy|ein Junge|un garçon; a girl|ein Mädchen|une fille
a child|ein Kind|un enfant; a dog|ein Hund|un chien; Tom|Tom|Tom; Mary|Maria|Marie; she|sie|elle; he|er|il
my father|mein Vater|mon père; my sister|meine Schwester|ma sœur; the teacher|der Lehrer|le professeur
a young woman|eine junge Frau|une jeune femme; an old man|ein alter Mann|un vieil homme
"""
MOVES = """
was walking|ging|marchait; walked|ging|marchait; was running|lief|courait; ran|rannte|courait
was going|ging|allait
"""
# Which way; German puts some of these behind the noun.
WAYS = """
|| ; down the road|die Straße entlang|sur la route; down the street|die Straße entlang|dans la rue
along the river|den Fluss entlang|le long de la rivière; through the park|durch den Park|à travers le parc
across the bridge|über die Brücke|sur le pont; through the forest|durch den Wald|à travers la forêt
along the beach|den Strand entlang|le long de la plage; across the street|über die Straße|à travers la rue
"""
FRAMES = """
{}|{1}|{}; {} is here|{1} ist hier|{} est ici; where is {}?|wo ist {1}?|où est {} ?
I see {}|ich sehe {4}|je vois {}; I like {}|ich mag {4}|j'aime {}; I lost {}|ich habe {4} verloren|j'ai perdu {}
I bought {}|ich habe {4} gekauft|j'ai acheté {}; this is {}|das ist {1}|c'est {}; {} is new|{1} ist neu|{} est {new}
he found {}|er hat {4} gefunden|il a trouvé {}; do you see {}?|siehst du {4}?|vois-tu {} ?
"""
# Never together in a phrase.
APART = {("green", "hat"), ("red", "car")}


def entries(table):
    """The fields of each entry: entries end with a semicolon or a line, fields with a bar."""
    return [[field.strip() for field in entry.split("|")] for entry in table.strip("\n").replace("\n", ";").split(";")]


def inflected(stem):
    """The stem of an adjective before its ending."""
    return {"teuer": "teur"}.get(stem, stem)


def german_thing(thing, quality, owner, case):
    """The thing with its quality and owner, nominative (1) or accusative (4)."""
    noun, gender = thing.split()
    stem = inflected(quality)
    masculine_object = gender == "m" and case == 4
    if owner.startswith("<"):
        ending = "en" if masculine_object else {"m": "er", "f": "e", "n": "es"}[gender]
        return f"{owner[1:]} {stem}{ending} {noun}"
    article = "den" if masculine_object else {"m": "der", "f": "die", "n": "das"}[gender]
    return f"{article} {stem}{'en' if masculine_object else 'e'} {noun} {owner}"


def french_noun(thing, quality):
    """The noun with its adjective on the side where it belongs, and its gender."""
    noun, gender = thing.split()
    adjective = quality[gender == "f"]
    return (f"{adjective} {noun}" if quality[2:] else f"{noun} {adjective}"), gender


def french_thing(thing, quality, owner):
    noun, gender = french_noun(thing, quality)
    article = "l'" if noun[0] in "aeéiou" else {"m": "le ", "f": "la "}[gender]
    of = "du " + owner[3:] if owner.startswith("le ") else "de " + owner
    return f"{article}{noun} {of}", gender


def sentence(text):
    """With a capital letter and an end."""
    text = text[0].upper() + text[1:]
    return text if text.endswith("?") else text + "."


class Phrases:
    """Draws sentences that belong together: English, German and French."""

    def __init__(self, seed):
        self.rng = np.random.default_rng((seed, 3))
        self.things, self.qualities, self.owners = entries(THINGS), entries(QUALITIES), entries(OWNERS)
        self.subjects, self.moves, self.ways = entries(SUBJECTS), entries(MOVES), entries(WAYS)
        self.frames = entries(FRAMES)

    def choice(self, rows):
        return rows[self.rng.integers(len(rows))]

    def described(self, things):
        """A thing and a quality that may meet."""
        while True:
            thing, quality = self.choice(things), self.choice(self.qualities)
            if (quality[0], thing[0]) not in APART:
                return thing, quality

    def possession(self):
        """Somebody's thing, with a quality."""
        thing, quality = self.described(self.things)
        owner, frame = self.choice(self.owners), self.choice(self.frames)
        cases = {case: german_thing(thing[1], quality[1], owner[1], int(case)) for case in "14"}
        french, gender = french_thing(thing[2], quality[2:], owner[2])
        english = f"{owner[0]} {quality[0]} {thing[0]}"
        german = frame[1].replace("{1}", cases["1"]).replace("{4}", cases["4"])
        new = "nouveau" if gender == "m" else "nouvelle"
        french = frame[2].replace("{}", french).replace("{new}", new)
        return frame[0].replace("{}", english), german, french

    def journey(self):
        """Somebody on the way to something."""
        thing, quality = self.described([thing for thing in self.things if thing[0] in PLACES])
        subject, move, way = self.choice(self.subjects), self.choice(self.moves), self.choice(self.ways)
        noun, gender = thing[1].split()
        article, ending = {"m": ("einen", "en"), "f": ("eine", "e"), "n": ("ein", "es")}[gender]
        goal = f"auf {article} {inflected(quality[1])}{ending} {noun} zu"
        french, french_gender = french_noun(thing[2], quality[2:])
        towards = self.choice(["towards", "toward"])
        n = "n" if quality[0][0] in "aeiou" else ""
        parts = (
            [subject[0], move[0], way[0], f"{towards} a{n} {quality[0]} {thing[0]}"],
            [subject[1], move[1], way[1], goal],
            [subject[2], move[2], way[2], f"vers {'un' if french_gender == 'm' else 'une'} {french}"],
        )
        return tuple(" ".join(filter(None, part)) for part in parts)

    def pairs(self, count, tags):
        """At most `count` pairs of tagged source and target for each language of `tags`; no source twice."""
        found = {}
        for i in range(count):
            english, german, french = map(sentence, self.journey() if i % 2 else self.possession())
            for language, target in (("deu", german), ("fra", french)):
                found[f"{tags[language]} {english}"] = target
        return list(found.items())


if __name__ == "__main__":
    for source, target in Phrases(0).pairs(20, {"deu": ">>deu<<", "fra": ">>fra<<"}):
        print(f"{source}\t{target}")
