/** Structured logging like Go's logr, in klog's text format or in Kubernetes' JSON format. */
export * from './logger.ts';
export * from './winston-logger.ts';
export * from './log-format.ts';
