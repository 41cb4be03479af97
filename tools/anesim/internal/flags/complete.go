package flags

import (
	"strings"

	"github.com/spf13/cobra"

	"anesim/firmware/engine"
	"anesim/hw/chip"
	"anesim/loader/network"
	"anesim/loader/network/keys"
)

// CompleteProgram completes the name of a program file in a shell.
func CompleteProgram(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hwx", "bin"}, cobra.ShellCompDirectiveFilterFileExt
}

// CompleteNetwork completes the name of a network file in a shell. It completes one argument
// only.
func CompleteNetwork(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, ext := range network.Extensions() {
		list = append(list, strings.TrimPrefix(ext, "."))
	}
	return list, cobra.ShellCompDirectiveFilterFileExt
}

// CompleteLayer completes an operation, and then the keys of that operation.
func CompleteLayer(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return keys.Names(), cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, o := range keys.Operations() {
		if o.Name != args[0] {
			continue
		}
		for _, k := range o.AllKeys() {
			list = append(list, k.Name+"=\t"+k.Help)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteFlags registers completions for the values of a command's flags.
func CompleteFlags(c *cobra.Command) {
	words := func(name string, list []string) {
		if c.Flags().Lookup(name) != nil {
			c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	if c.Flags().Lookup("chip") != nil {
		c.RegisterFlagCompletionFunc("chip", cobra.FixedCompletions(chip.Names(), cobra.ShellCompDirectiveDefault))
	}
	words("host", engine.HostNames())
	if c.Flags().Lookup("out") != nil {
		c.MarkFlagDirname("out")
	}
}
