package sweep

import (
	"fmt"
	"strconv"
	"strings"

	"anesim/hw"
	"anesim/hw/chip"
)

// An expression is a sum of terms over a chip's constants, such as this estimate of a chip's
// area: 2 + 0.004*Engines*MACs + 1.1e-6*L2Bytes.
type expression []term

// A term is the product of a number and constants of the chip.
type term struct {
	factor    float64
	constants []string
}

// maxTerms is the largest number of terms of an expression.
const maxTerms = 64

// parseExpression parses an area expression, such as "0.004*Engines*MACs+1.5". It returns an error
// if a name in it is not a constant of the default chip.
func parseExpression(text string) (*expression, error) {
	var e expression
	rest := strings.TrimSpace(text)
	sign := 1.0
	if cut, ok := strings.CutPrefix(rest, "-"); ok {
		rest, sign = cut, -1
	}
	for {
		p, after, err := parseTerm(rest)
		if err != nil {
			return nil, err
		}
		p.factor *= sign
		if e = append(e, p); len(e) > maxTerms {
			return nil, fmt.Errorf("expression has more than %d terms", maxTerms)
		}
		switch {
		case after == "":
			return &e, nil
		case after[0] == '+':
			sign = 1
		case after[0] == '-':
			sign = -1
		default:
			return nil, fmt.Errorf("malformed expression %q; want +, - or * before %q", text, after)
		}
		rest = after[1:]
	}
}

// parseTerm parses a product such as "0.004*Engines*MACs" at the start of text. It also returns the
// rest of text, which is empty or starts with the operator after the term.
func parseTerm(text string) (p term, rest string, err error) {
	p.factor = 1
	for {
		text = strings.TrimSpace(text)
		n := factorLength(text)
		word := text[:n]
		text = strings.TrimSpace(text[n:])
		switch {
		case word == "" && text == "":
			return p, "", fmt.Errorf("unexpected end of expression; want a number or a chip constant")
		case word == "":
			return p, "", fmt.Errorf("unexpected %q; want a number or a chip constant", text)
		case isNumber(word):
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return p, "", fmt.Errorf("%q is not a finite number", word)
			}
			p.factor = float64(p.factor * v)
		default:
			c, err := chip.ByName(chip.Default) // constants have the same names on every chip
			if err != nil {
				return p, "", err
			}
			if _, ok := lookupConstant(&c, word); !ok {
				return p, "", chip.Set(&c, word, 0) // returns an error with suggestions
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

// isNumber reports whether text starts with a digit or a decimal point.
func isNumber(text string) bool {
	return text != "" && (text[0] >= '0' && text[0] <= '9' || text[0] == '.')
}

// factorLength returns the length of the number or name at the start of text, or 0 if there is
// neither. A sign after the e of a number belongs to its exponent.
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

// lookupConstant returns the value of the named constant of chip c, and whether c has such a
// constant.
func lookupConstant(c *hw.Chip, name string) (float64, bool) {
	for n, k := range c.Constants() {
		if n == name {
			return k.Value, true
		}
	}
	return 0, false
}

// evaluate returns the value of the expression with the constants of chip c.
func (e *expression) evaluate(c *hw.Chip) float64 {
	sum := 0.0
	for _, p := range *e {
		v := p.factor
		for _, name := range p.constants {
			k, _ := lookupConstant(c, name)
			v = float64(v * k)
		}
		sum += v
	}
	return sum
}
