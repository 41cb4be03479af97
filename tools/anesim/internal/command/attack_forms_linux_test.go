package command

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"anesim/internal/network/coreml"
	"anesim/internal/network/mil"
)

// coreml returns a command and a Core ML model with a random MIL program for it. It generates
// programs until one is well formed.
func (r *attacker) coreml() (args []string, ext string, data []byte) {
	for {
		args, _, text := r.mil()
		if p, err := mil.Parse(string(text)); err == nil {
			return args, ".mlmodel", coreml.Encode(p)
		}
	}
}

// numbers matches the decimal numbers of a text that no letter or digit touches.
var numbers = regexp.MustCompile(`\b[0-9]+\b`)

// exaggerate replaces one to three numbers in a text by random numbers of any magnitude.
func (r *attacker) exaggerate(text string) string {
	all := numbers.FindAllStringIndex(text, -1)
	for range 1 + r.IntN(3) {
		at := all[r.IntN(len(all))]
		if at[1] > len(text) {
			continue
		}
		n := strconv.Itoa([]int{0, r.near(5), r.near(14), r.near(32), r.near(62)}[r.IntN(5)])
		text = text[:at[0]] + n + text[at[1]:]
		all = numbers.FindAllStringIndex(text, -1)
	}
	return text
}

// exampleText returns the text of an example file.
func exampleText(name string) string {
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", name))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// script returns a command and a script of clients or of firmware commands for it, with random
// numbers.
func (r *attacker) script() (args []string, ext string, data []byte) {
	if r.IntN(2) == 0 {
		return []string{"load"}, ".yaml", []byte(r.exaggerate("duration: 20ms\nin_flight: 1\nclients:\n" +
			"  - {name: a, layer: relu c=64 h=8 w=8, arrival: poisson, rate: 30, priority: 2}\n" +
			"  - {name: b, layer: conv cin=8 h=8 w=8 cout=8 k=3, arrival: back-to-back, threads: 2}\n"))
	}
	names := []string{"preempt.fw", "events.fw", "gates.fw", "resident.fw", "secure.fw"}
	return []string{"fw"}, ".fw", []byte(r.exaggerate(exampleText(names[r.IntN(len(names))])))
}

// text returns a command and a descriptor text for it, with random numbers.
func (r *attacker) text() (args []string, ext string, data []byte) {
	args = [][]string{{"asm", "-o", os.DevNull}, {"lint"}}[r.IntN(2)]
	return args, ".td", []byte(r.exaggerate(exampleText("folded.td")))
}

// attackProgram is a small program of one convolution, made once.
var attackProgram = sync.OnceValue(func() []byte {
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "conv.hwx")
	if code := Main(strings.Fields("layer conv cin=8 h=9 w=9 cout=8 k=3 pad=1 --emit "+file), new(strings.Builder), os.Stderr); code != exitDone {
		panic("no program to attack")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return data
})

// program returns a command and a compiled program for it, with random words, mostly in the
// descriptors.
func (r *attacker) program() (args []string, ext string, data []byte) {
	data = append([]byte{}, attackProgram()...)
	for range 1 + r.IntN(6) {
		at := 4 * r.IntN(len(data)/4)
		if r.IntN(4) != 0 {
			at = min(at, 0x4000+4*r.IntN(0x200))
		}
		old := binary.LittleEndian.Uint32(data[at:])
		binary.LittleEndian.PutUint32(data[at:], []uint32{r.Uint32(), old ^ 1<<r.IntN(32), uint32(r.near(31)), ^uint32(0)}[r.IntN(4)])
	}
	return [][]string{{"run"}, {"run", "--timing-only"}, {"dump"}, {"lint"}, {"explain"}, {"dump", "--text"}}[r.IntN(6)], ".hwx", data
}
