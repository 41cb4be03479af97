package anesim

import (
	"encoding/hex"
	"fmt"
	"hash"
	"hash/fnv"
	"runtime/debug"

	"anesim/hw"
	"anesim/hw/evidence"
	"anesim/hw/host"
)

// A Tool identifies the build of this module that wrote a document, and the values of the chip and
// host constants in that build.
type Tool struct {
	Version   string `json:"version"`            // of the module, "(devel)" if unknown
	Revision  string `json:"revision,omitempty"` // of the source, followed by + if it was modified
	Constants string `json:"constants"`          // hash of all constants of the chips and hosts
}

// ThisTool returns the version, source revision and constants of the running program. The version
// is "(devel)" if the build does not record one.
func ThisTool() Tool {
	t := Tool{Version: "(devel)", Constants: hashConstants()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	if v := moduleVersion(info); v != "" {
		t.Version = v
	}
	const short = 12
	for _, s := range info.Settings {
		switch {
		case info.Main.Path != modulePath:
		case s.Key == "vcs.revision":
			t.Revision = s.Value[:min(short, len(s.Value))] + t.Revision
		case s.Key == "vcs.modified" && s.Value == "true":
			t.Revision += "+"
		}
	}
	return t
}

const modulePath = "anesim"

// moduleVersion returns the version of this module in a build, whether it is the main module or a
// dependency. It returns "" if the build does not contain the module.
func moduleVersion(info *debug.BuildInfo) string {
	if info.Main.Path == modulePath {
		return info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == modulePath {
			return m.Version
		}
	}
	return ""
}

// hashConstants returns a hash, as 12 hexadecimal digits, of the names, values, units and evidence
// of all constants of the built-in chips and hosts.
func hashConstants() string {
	h := fnv.New128a()
	for _, c := range hw.Chips() {
		fmt.Fprintf(h, "chip %s\n", c.Name)
		for name, k := range c.Constants() {
			hashConstant(h, name, k)
		}
	}
	for _, p := range host.Presets() {
		fmt.Fprintf(h, "host %s\n", p.Name)
		for name, k := range p.Constants() {
			hashConstant(h, name, k)
		}
	}
	const digits = 12
	return hex.EncodeToString(h.Sum(nil))[:digits]
}

// hashConstant adds the name, value, unit and evidence of a constant to h.
func hashConstant(h hash.Hash, name string, c evidence.Constant) {
	fmt.Fprintf(h, "%s %g %s %s\n", name, c.Value, c.Unit, c.Evidence)
}
