// The program kstatus reads a JSON list of objects from stdin, and writes a JSON list with the status that the library
// kstatus of Flux computes for each object.
package main

import (
	"io"
	"log"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

type result struct {
	Status  status.Status `json:"status"`
	Message string        `json:"message"`
}

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	var objects []any
	// The decoder of Kubernetes reads integers as int64, as the library expects them.
	if err := json.Unmarshal(text, &objects); err != nil {
		log.Fatal(err)
	}
	results := make([]result, 0, len(objects))
	for _, object := range objects {
		computed, err := status.Compute(&unstructured.Unstructured{Object: object.(map[string]any)})
		if err != nil {
			log.Fatal(err)
		}
		results = append(results, result{computed.Status, computed.Message})
	}
	answer, err := json.Marshal(results)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stdout.Write(answer); err != nil {
		log.Fatal(err)
	}
}
