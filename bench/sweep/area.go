package sweep

import (
	"fmt"
	"strconv"
	"strings"

	"anesim/hw"
	"anesim/hw/chip"
)

// An expression is a sum of products of numbers and a chip's constants, as a proxy of its
// area is: 2 + 0.004*Engines*MACs + 1.1e-6*L2Bytes.
type expression []product

type product struct {
	factor    float64
	constants []string
}

// maxTerms bounds an expression.
const maxTerms = 64

// parseExpression reads an expression. Its constants are checked against the presets'.
func parseExpression(text string) (*expression, error) {
	var e expression
	rest := strings.TrimSpace(text)
	sign := 1.0
	if cut, ok := strings.CutPrefix(rest, "-"); ok {
		rest, sign = cut, -1
	}
	for {
		p, after, err := parseProduct(rest)
		if err != nil {
			return nil, err
		}
		p.factor *= sign
		if e = append(e, p); len(e) > maxTerms {
			return nil, fmt.Errorf("more than %d terms", maxTerms)
		}
		switch {
		case after == "":
			return &e, nil
		case after[0] == '+':
			sign = 1
		case after[0] == '-':
			sign = -1
		default:
			return nil, fmt.Errorf("%q: want + or - or * at %q", text, after)
		}
		rest = after[1:]
	}
}

// parseProduct reads factors up to a plus or a minus.
func parseProduct(text string) (p product, rest string, err error) {
	p.factor = 1
	for {
		text = strings.TrimSpace(text)
		n := factorLength(text)
		word := text[:n]
		text = strings.TrimSpace(text[n:])
		switch {
		case word == "":
			return p, "", fmt.Errorf("a number or a constant of the chip is missing at %q", text)
		case isNumber(word):
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return p, "", fmt.Errorf("%q is not a number", word)
			}
			p.factor = float64(p.factor * v)
		default:
			c, err := chip.ByName(chip.Default) // constants have the same names on all
			if err != nil {
				return p, "", err
			}
			if _, ok := constantOf(&c, word); !ok {
				return p, "", chip.Set(&c, word, 0) // which says what may have been meant
			}
			p.constants = append(p.constants, word)
		}
		cut, ok := strings.CutPrefix(text, "*")
		if !ok {
			return p, text, nil
		}
		text = cut
	}
}

// isNumber reports whether a text starts as a number does.
func isNumber(text string) bool {
	return text != "" && (text[0] >= '0' && text[0] <= '9' || text[0] == '.')
}

// factorLength is how long the number or the name is that a text starts with. A sign behind
// an e is the exponent's.
func factorLength(text string) int {
	number := isNumber(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '.':
		case (c == '+' || c == '-') && number && i > 0 && (text[i-1] == 'e' || text[i-1] == 'E'):
		default:
			return i
		}
	}
	return len(text)
}

// constantOf is a chip's constant by its name.
func constantOf(c *hw.Chip, name string) (float64, bool) {
	for n, k := range c.Constants() {
		if n == name {
			return k.Value, true
		}
	}
	return 0, false
}

// value is the expression of a chip's constants.
func (e *expression) value(c *hw.Chip) float64 {
	sum := 0.0
	for _, p := range *e {
		v := p.factor
		for _, name := range p.constants {
			k, _ := constantOf(c, name)
			v = float64(v * k)
		}
		sum += v
	}
	return sum
}
