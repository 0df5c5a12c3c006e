/** Structured logging like Go's logr, in klog's text format or in Kubernetes' JSON format. */
export type { LogKeys, Logger } from './logger.ts';
export {
  type LoggingFormat,
  type WinstonLoggerOptions,
  type ClosableLogger,
  createWinstonLogger,
} from './winston-logger.ts';
export { type Severity, type LogRecord, formatText, formatJson } from './log-format.ts';
