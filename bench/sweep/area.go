package sweep

import (
	"fmt"
	"strconv"
	"strings"

	"anesim/hw"
	"anesim/hw/chip"
)

// An expression is a sum of products of numbers and a chip's constants. It estimates a
// chip's area, as in 2 + 0.004*Engines*MACs + 1.1e-6*L2Bytes.
type expression []product

type product struct {
	factor    float64
	constants []string
}

// maxTerms is the maximum number of terms in an expression.
const maxTerms = 64

// parseExpression parses an expression. It returns an error for constants that chips do not
// have.
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
			return nil, fmt.Errorf("malformed expression %q; want + or - or * at %q", text, after)
		}
		rest = after[1:]
	}
}

// parseProduct parses factors up to a plus or a minus, and returns the rest of the text.
func parseProduct(text string) (p product, rest string, err error) {
	p.factor = 1
	for {
		text = strings.TrimSpace(text)
		n := factorLength(text)
		word := text[:n]
		text = strings.TrimSpace(text[n:])
		switch {
		case word == "":
			return p, "", fmt.Errorf("missing number or constant of the chip at %q", text)
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
			if _, ok := findConstant(&c, word); !ok {
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

// isNumber reports whether a text starts as a number does.
func isNumber(text string) bool {
	return text != "" && (text[0] >= '0' && text[0] <= '9' || text[0] == '.')
}

// factorLength returns the length of the number or the name at the start of a text. A sign
// after an e belongs to the exponent.
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

// findConstant returns the chip's constant with the given name.
func findConstant(c *hw.Chip, name string) (float64, bool) {
	for n, k := range c.Constants() {
		if n == name {
			return k.Value, true
		}
	}
	return 0, false
}

// evaluate returns the value of the expression for a chip.
func (e *expression) evaluate(c *hw.Chip) float64 {
	sum := 0.0
	for _, p := range *e {
		v := p.factor
		for _, name := range p.constants {
			k, _ := findConstant(c, name)
			v = float64(v * k)
		}
		sum += v
	}
	return sum
}
