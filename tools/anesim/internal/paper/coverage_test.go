package paper

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim/internal/material"
)

// What of the documents' rows with numbers the paper has no row of, by why.
const (
	notAFigure  = "a name or a form, no quantity"
	elsewhere   = "held by the reader's own tests: a form of file, not a quantity of a run"
	unspecified = "nothing in the documents says what it does"
	hostSide    = "the vendor's user space, which the model does not have"
	asData      = "the model has it from the documents as data: a row would compare it with itself"
)

// paperOf is which of the paper's claims, by a part of their name, shows a row of the
// documents' table, or why none does.
var paperOf = map[int]string{
	1: "-" + notAFigure, 2: "-" + notAFigure, 3: "magic of a container", 4: "bytes of the root table", 7: "place of field 3 in the root table",
	8: "-" + asData, 10: "-" + notAFigure, 12: "bytes that six operations take more", 13: "bytes that K=256 takes more",
	16: "operations of one network", 17: "-" + asData, 18: "image offset of G6", 19: "-" + notAFigure,
	21: "-" + asData, 22: "-" + asData, 23: "-" + asData, 24: "-" + asData,
	25: "-" + asData, 26: "-" + asData, 28: "-" + asData, 38: "-" + elsewhere,
	40: "elements of the input's row", 41: "address of the weights", 43: "-" + elsewhere, 44: "-" + elsewhere, 45: "words 0x81 from 0x234",
	46: "-" + elsewhere, 47: "opcode", 48: "-" + notAFigure, 49: "bytes of the load commands", 50: "segment commands",
	53: "-" + unspecified, 54: "-" + unspecified, 55: "values of CatalogueType", 56: "-" + elsewhere, 57: "bytes of a lane's coefficients",
	59: "weights of 1.0", 60: "magic of a container", 62: "windows stand at multiples", 63: "-" + elsewhere, 64: "place of descriptor 2",
	65: "-" + elsewhere, 66: "-" + elsewhere, 67: "-" + elsewhere, 68: "debug-event word", 69: "-" + elsewhere, 70: "relocations of the text",
	71: "-" + notAFigure, 72: "-" + elsewhere, 73: "weight tiles of the convolution", 74: "stride of the input along n",
	76: "-" + asData, 77: "-" + asData, 80: "-" + asData, 82: "-" + hostSide, 84: "-" + elsewhere,
	85: "-" + asData, 86: "last offset of the argument block", 87: "selectors that refuse", 88: "-" + asData,
	89: "-" + asData, 90: "selectors that refuse", 91: "-" + asData, 92: "-" + asData, 93: "-" + asData,
	94: "-" + asData, 95: "-" + asData, 96: "-" + asData, 97: "-" + asData, 98: "-" + asData,
	99: "-" + asData, 100: "-" + asData, 101: "-" + asData, 102: "-" + asData, 103: "-" + asData,
	104: "open: timeout", 105: "open: code of usage 2", 107: "-" + asData, 108: "-" + asData, 109: "-" + asData,
	110: "-" + asData, 111: "-" + asData, 112: "-" + asData, 113: "-" + asData,
	120: "doorbells", 121: "request: surfaces", 122: "-" + asData, 123: "doorbells", 124: "bits that say a completion store failed",
	128: "-" + asData, 135: "-" + asData, 136: "-" + asData,
	151: "highest priority number", 154: "a call of a small graph", 155: "share of the call that is overhead", 156: "stage: completion",
	157: "SendRequest", 158: "-" + asData, 159: "two submitting threads", 163: "resident accumulator, call 4", 153: "that never complete",
	169: "-" + hostSide, 170: "-" + hostSide, 171: "-" + hostSide, 174: "-" + hostSide, 175: "-" + hostSide, 176: "-" + hostSide,
	190: "values of NeuronToken", 191: "-" + asData, 193: "-" + asData, 194: "-" + asData, 195: "-" + asData,
	196: "-" + asData, 197: "-" + asData, 198: "-" + asData, 200: "-" + asData,
	201: "-" + asData, 202: "-" + asData, 203: "-" + unspecified, 204: "-" + elsewhere, 205: "-" + elsewhere,
	206: "-" + asData, 208: "-" + asData, 209: "-" + elsewhere, 210: "-" + elsewhere, 211: "-" + asData,
	214: "-" + asData, 215: "-" + asData, 216: "-" + asData, 217: "-" + asData, 218: "-" + asData, 219: "-" + asData,
	220: "-" + asData, 221: "-" + asData, 222: "-" + asData, 223: "-" + asData, 224: "-" + asData,
	225: "-" + asData, 226: "-" + asData, 227: "-" + asData, 228: "-" + asData, 229: "tiles that are on",
	230: "-" + asData, 231: "-" + asData, 232: "-" + asData, 234: "commands", 235: "-" + asData,
	236: "signal events of a call", 237: "custom bars of a program", 238: "execute-order entries", 239: "-" + asData,
	240: "active shared events", 241: "output buffer sets", 242: "priorities of the realtime band", 243: "-" + asData,
	245: "-" + asData, 246: "-" + asData, 249: "-" + asData, 250: "place of InFmt in G1",
	252: "-" + asData, 253: "-" + asData, 254: "-" + asData, 257: "-" + elsewhere, 258: "pairs of build information",
	259: "-" + asData,
}

// TestPaperCoversTheTable holds the paper to every row of the documents' table that
// carries a number.
func TestPaperCoversTheTable(t *testing.T) {
	d, err := Compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown := func(part string) bool {
		return slices.ContainsFunc(d.Rows, func(r Row) bool { return strings.Contains(r.Claim, part) })
	}
	for id, part := range paperOf {
		if !strings.HasPrefix(part, "-") && !shown(part) {
			t.Errorf("row %d: the paper has no %q", id, part)
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(material.Read(t, "spec/coverage.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	// Digits of names are no figures.
	names := regexp.MustCompile(`v10|fp16|int8|int4|e4m3|C\.\d+|M1\b|E5\b|\bu64\b|G[0-6]\b|T\d`)
	numbered, with := 0, 0
	for _, row := range rows[1:] {
		id, err := strconv.Atoi(row[0])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.ContainsAny(names.ReplaceAllString(row[3]+" "+row[4], ""), "0123456789") {
			continue
		}
		numbered++
		switch part, ok := paperOf[id]; {
		case !ok:
			t.Errorf("row %d carries a number and has no claim: %s", id, row[3])
		case !strings.HasPrefix(part, "-"):
			with++
		}
	}
	t.Logf("%d rows with numbers, %d of them shown; the paper has %d claims", numbered, with, len(d.Rows))
}
