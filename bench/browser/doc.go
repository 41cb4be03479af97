// Package browser tests the command's HTML pages in a headless Chromium. It is a separate module,
// so that the model does not depend on the packages that drive a browser.
//
//	apt-get install chromium
//	cd bench/browser && go test ./... -shots DIR
package browser
